/* Servers inside sessions. A request below /ports/PORT/ is passed on to the server that listens on that port of the
 * session, for programs: what it answers is code of the session, so it must never act as our own page. Keys alone are
 * accepted, no cookie goes in or out, and a browser's navigation is refused. Browsers use an origin for each port
 * (origins.h), or `husk open`. A POST to /ports/PORT joins a socket that comes with the request, which only works on the
 * unix socket. */
#include <errno.h>
#include <sys/socket.h>

#include "api/forward.h"
#include "api/host.h"
#include "api/pass.h"
#include "api/port-fields.h"
#include "api/problem.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/parse.h"

/* Segments of "/v1/sessions/ID/ports/PORT". */
#define PREFIX_SEGMENTS 5

/* x->data of the exchange. */
struct port {
	struct exchange *exchange;
	uint16_t number;
	int fd; /* our end of a pair, or the client's own socket; -1 = none */
	struct http_client *client;
	struct pass *pass;
	struct http_fields answer_fields;
	struct port_names names; /* of a request to the origin of the port; else NULL in it */
	char *server;
};

static void port_free(struct exchange *x)
{
	struct port *p = take_ptr(x->data);
	x->closed = NULL;
	if (x->op && !x->api->closing)
		op_cancel(take_ptr(x->op));
	pass_free(p->pass);
	http_client_free(p->client);
	http_fields_release(&p->answer_fields);
	free(p->server);
	/* The client of a socket that could not be joined sees a reset, not the end of an empty answer. */
	if (p->fd >= 0)
		setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
	closep(&p->fd);
	free(p);
}

/* NULL if the exchange was answered. */
static struct port *port_new(struct exchange *x)
{
	uint64_t number;
	if (parse_u64(x->captures[1], &number) < 0 || number < 1 || number > UINT16_MAX) {
		exchange_problem(x, 400, "The port must be a number from 1 to 65535.", NULL);
		return NULL;
	}
	struct port *p = new0(struct port);
	p->exchange = x;
	p->number = (uint16_t)number;
	p->fd = -1;
	x->data = p;
	x->closed = port_free;
	return p;
}

/* The connection ended, or was not made. A pass that has begun sees its end by itself. */
static void on_end(void *ctx, const struct fail *f)
{
	struct port *p = ctx;
	struct exchange *x = p->exchange;
	x->op = NULL;
	if (p->pass)
		return;
	if (f)
		exchange_fail(x, f);
	else
		exchange_reply_empty(x, 204);
}

static void open_port(struct port *p, int (*on_open)(void *ctx))
{
	AUTO(fail_release) struct fail f = { 0 };
	struct exchange *x = p->exchange;
	struct port_request request = {
		.session_id = x->session, .port = p->number, .on_open = on_open, .on_end = on_end, .ctx = p
	};
	exchange_await(x, manager_port(x->conversation, &request, &f), &f);
}

/* --- HTTP ---------------------------------------------------------------------------------------------------------- */

static int dial(void *ctx)
{
	struct port *p = ctx;
	int fd = take_fd(p->fd);
	return fd < 0 ? -ECONNREFUSED : fd;
}

/* The part of the target that the session's server gets. */
static const char *inner_target(const struct exchange *x)
{
	const char *at = exchange_target(x);
	for (int i = 0; i < PREFIX_SEGMENTS && *at; i++)
		at += 1 + strcspn(at + 1, "/");
	return at;
}

static void add_program_fields(struct port *p, struct http_fields *fields)
{
	const struct exchange *x = p->exchange;
	http_fields_addf(fields, "X-Forwarded-Prefix", "/v1/sessions/%s/ports/%u", x->session, p->number);
	http_fields_add(&p->answer_fields, "Content-Security-Policy", "sandbox");
	http_fields_add(&p->answer_fields, "X-Content-Type-Options", "nosniff");
}

static void add_browser_fields(const struct port *p, struct http_fields *fields)
{
	const char *host = strstr(p->names.origin, "://");
	http_fields_addf(fields, "X-Forwarded-Proto", "%.*s", (int)(host - p->names.origin), p->names.origin);
	http_fields_add(fields, "X-Forwarded-Host", host + 3);
}

static void pass_on(struct port *p)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct exchange *x = p->exchange;
	const char *target = x->origin ? exchange_target(x) : forward_port_target(x);
	if (p->names.origin)
		add_browser_fields(p, &fields);
	else
		add_program_fields(p, &fields);
	p->client = http_client_new(&(struct http_client_spec){ .loop = x->api->spec.loop,
								.dial = dial,
								.dial_ctx = p,
								.host = p->names.server + sizeof("http://") - 1 },
				    &f);
	p->pass = pass_new(x, &(struct pass_spec){
				      .client = p->client,
				      .target = target ? target : inner_target(x),
				      .fields = &fields,
				      .pass_field = p->names.origin ? port_fields_for_browser : port_fields_for_program,
				      .ctx = &p->names,
				      .answer_fields = &p->answer_fields,
				      .lost = "The server in the session closed the connection without an answer.",
				      .lost_hint = "It must speak HTTP/1.1." });
}

static int on_connected(void *ctx)
{
	struct port *p = ctx;
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	p->fd = pair[0];
	pass_on(p);
	return pair[1];
}

static void handle(struct exchange *x)
{
	const char *mode = exchange_field(x, "sec-fetch-mode");
	const char *origin = x->origin ? x->origin : forward_port_origin(x);
	if (!origin && mode && streq(mode, "navigate")) {
		exchange_problem(x, 403, "This address is for programs.",
				 "Open the port from the page of Husk, or with `husk open SESSION PORT`.");
		return;
	}
	if (*exchange_target(x) != '/') {
		exchange_problem(x, 400, "The request needs a path.", NULL);
		return;
	}
	struct port *p = pass_admit(x) ? port_new(x) : NULL;
	if (!p)
		return;
	p->server = xasprintf("http://localhost:%u", p->number);
	p->names = (struct port_names){ .server = p->server, .origin = origin };
	open_port(p, on_connected);
}

/* --- a socket of the client ---------------------------------------------------------------------------------------- */

static int on_joined(void *ctx)
{
	struct port *p = ctx;
	return take_fd(p->fd);
}

/* The first file of the request, if it is a stream socket; else -1. */
static int take_socket(struct exchange *x)
{
	int files[CHANNEL_FILES_MAX], type = 0, fd = -1;
	size_t n = http_request_take_files(x->request, files);
	for (size_t i = 0; i < n; i++) {
		bool is_socket = getsockopt(files[i], SOL_SOCKET, SO_TYPE, &type, &(socklen_t){ sizeof(type) }) == 0;
		if (fd < 0 && is_socket && type == SOCK_STREAM)
			fd = take_fd(files[i]);
		closep(&files[i]);
	}
	return fd;
}

static void join(struct exchange *x)
{
	struct port *p = port_new(x);
	if (!p)
		return;
	p->fd = take_socket(x);
	if (p->fd < 0)
		exchange_problem(
			x, 400, "There is no socket with the request.",
			"Send one over the unix socket, as `husk open` does, or use the address with a final slash.");
	else
		open_port(p, on_joined);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer answers[] = {
	{ 200, NULL, "*/*", "The answer of the session's server, with its own status." },
	{ 101, NULL, NULL, "The session's server has changed the protocol, for example to a WebSocket." },
	{ 502, "Problem", "application/problem+json", "Nothing listens on the port, or it does not speak HTTP." },
	{ 0 },
};
static const struct route_answer join_answers[] = { { 204, NULL, NULL, "The connection has ended." }, { 0 } };

#define PORTS_PATH "/v1/sessions/{session}/ports/{port}/{path...}"
#define PORTS_FLAGS (ROUTE_SESSION | ROUTE_RAW_BODY | ROUTE_ANY_QUERY | ROUTE_NO_COOKIE)

/* Every method: those that are not in the table are passed on, too. */
const struct route route_port_origin = { .path = "(origin of a port)",
					 .scope = SCOPE_PORTS,
					 .flags = ROUTE_SESSION | ROUTE_RAW_BODY | ROUTE_ANY_QUERY | ROUTE_HIDDEN,
					 .handle = handle };

const struct route routes_ports[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = PORTS_PATH,
	  .scope = SCOPE_PORTS,
	  .flags = PORTS_FLAGS,
	  .name = "usePort",
	  .tag = "ports",
	  .summary = "Send a request to a server in the session",
	  .text = "Every method, a body of any length, and WebSockets are passed on, also if the session has no network. "
		  "Cookies and Authorization are not. The path below the port and the query are those of the request.",
	  .answers = answers,
	  .handle = handle },
	{ .method = HTTP_METHOD_POST,
	  .path = PORTS_PATH,
	  .scope = SCOPE_PORTS,
	  .flags = PORTS_FLAGS | ROUTE_HIDDEN,
	  .handle = handle },
	{ .method = HTTP_METHOD_PUT,
	  .path = PORTS_PATH,
	  .scope = SCOPE_PORTS,
	  .flags = PORTS_FLAGS | ROUTE_HIDDEN,
	  .handle = handle },
	{ .method = HTTP_METHOD_PATCH,
	  .path = PORTS_PATH,
	  .scope = SCOPE_PORTS,
	  .flags = PORTS_FLAGS | ROUTE_HIDDEN,
	  .handle = handle },
	{ .method = HTTP_METHOD_DELETE,
	  .path = PORTS_PATH,
	  .scope = SCOPE_PORTS,
	  .flags = PORTS_FLAGS | ROUTE_HIDDEN,
	  .handle = handle },
	{ .method = HTTP_METHOD_OPTIONS,
	  .path = PORTS_PATH,
	  .scope = SCOPE_PORTS,
	  .flags = PORTS_FLAGS | ROUTE_HIDDEN,
	  .handle = handle },
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/ports/{port}",
	  .scope = SCOPE_PORTS,
	  .flags = ROUTE_SESSION | ROUTE_HIDDEN | ROUTE_NO_COOKIE,
	  .name = "joinPort",
	  .tag = "ports",
	  .summary = "Join a socket to a port of the session",
	  .answers = join_answers,
	  .handle = join },
	{ 0 },
};
