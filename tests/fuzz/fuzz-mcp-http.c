/* MCP over HTTP with a manager that needs no engine: requests in pieces, on several connections, in and without a
 * session, and disconnects at any time. Every answer is a valid HTTP message with a valid body.
 *
 * Byte 1 in the input begins another connection, byte 2 closes the current one. "$S" is replaced by the id of a
 * session that exists. */
#include "mcp/http.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/log.h"
#include "http/events.h"
#include "http/parser.h"
#include "http/server.h"
#include "tests/conformance/fixtures.h"
#include "tests/fuzz/fuzz.h"

#define CONNECTIONS_MAX 6
/* Turns of the loop after the last byte, so that calls can end. */
#define TURNS_AFTER 4

struct link {
	int fd;
	struct http_parser *parser;
	struct http_event_reader events;
	bool json, streams;
	struct buf body;
};

struct fuzz {
	struct loop *loop;
	struct timer *timer;
	struct http_server *server;
	struct mcp_http *mcp;
	struct conversation *conversation;
	struct link links[CONNECTIONS_MAX];
	size_t n;
	struct buf input;
	struct pieces pieces;
	unsigned turns;
	char session[40];
};

/* --- answers */

static void saw_event(void *ctx UNUSED, const struct http_event *event)
{
	/* The first event of a stream is empty. */
	json_auto_t *message = json_loadb(event->data, event->n, JSON_ALLOW_NUL, NULL);
	CHECK(event->n == 0 || message);
}

static void saw_head(void *ctx, const struct http_head *head)
{
	struct link *l = ctx;
	const char *type = http_fields_get(&head->fields, "content-type");
	CHECK(head->status >= 100 && head->status < 600);
	l->json = type && (streq(type, "application/json") || streq(type, "application/problem+json"));
	l->streams = type && streq(type, "text/event-stream");
	CHECK(head->status != 200 || l->json || l->streams);
	buf_reset(&l->body);
	http_event_reader_release(&l->events);
	http_event_reader_init(&l->events, 16u << 20, saw_event, l);
}

static void saw_body(void *ctx, const void *data, size_t n)
{
	struct link *l = ctx;
	if (l->streams)
		CHECK(http_event_reader_feed(&l->events, data, n) == 0);
	else
		buf_add(&l->body, data, n);
}

static void saw_end(void *ctx)
{
	struct link *l = ctx;
	json_auto_t *message = l->json ? json_loadb((char *)l->body.data, l->body.len, JSON_ALLOW_NUL, NULL) : NULL;
	CHECK(!l->json || message);
}

static void read_answers(struct link *l)
{
	char chunk[16384];
	ssize_t n;
	while (l->fd >= 0 && (n = read(l->fd, chunk, sizeof(chunk))) > 0)
		for (size_t at = 0; at < (size_t)n;) {
			ssize_t used = http_parser_feed(l->parser, chunk + at, (size_t)n - at);
			CHECK(used > 0);
			at += (size_t)used;
		}
}

/* --- requests */

static struct link *connect_one(struct fuzz *f)
{
	static const struct http_parser_ops ops = { saw_head, saw_body, saw_end };
	int ends[2];
	if (f->n == CONNECTIONS_MAX)
		return &f->links[f->n - 1];
	struct link *l = &f->links[f->n++];
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
	l->fd = ends[1];
	l->parser = http_parser_new(HTTP_CLIENT, &ops, l);
	http_server_adopt(f->server, ends[0], NULL, NULL);
	return l;
}

static void send_piece(struct fuzz *f, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct link *l = f->n ? &f->links[f->n - 1] : connect_one(f);
		if (data[i] == 1) {
			connect_one(f);
		} else if (data[i] == 2) {
			closep(&l->fd);
		} else if (l->fd >= 0) {
			ssize_t done = write(l->fd, &data[i], 1);
			CHECK(done == 1 || errno == EPIPE || errno == EAGAIN);
		}
	}
}

static void on_turn(void *ctx)
{
	struct fuzz *f = ctx;
	const uint8_t *piece;
	size_t n;
	for (size_t i = 0; i < f->n; i++)
		read_answers(&f->links[i]);
	if (pieces_next(&f->pieces, &piece, &n)) {
		send_piece(f, piece, n);
	} else if (++f->turns == TURNS_AFTER) {
		loop_stop(f->loop, 0);
		return;
	}
	timer_start(f->timer, 0, 0);
}

static void on_request(void *ctx, struct http_request *r)
{
	struct fuzz *f = ctx;
	mcp_http_request(
		f->mcp, r,
		&(struct mcp_http_caller){ .conversation = f->conversation, .key = "k", .scopes = SCOPES_DEFAULT });
}

/* Begins the session that "$S" names. */
static void begin_session(struct fuzz *f)
{
	static const char body[] =
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}";
	AUTO(freep) char *request = xasprintf(
		"POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		strlen(body), body);
	struct link *l = connect_one(f);
	char got[65536];
	size_t n = 0;
	CHECK(write(l->fd, request, strlen(request)) == (ssize_t)strlen(request));
	while (!n || !memmem(got, n, "\r\n\r\n", 4)) {
		ssize_t some = read(l->fd, got + n, sizeof(got) - 1 - n);
		n += some > 0 ? (size_t)some : 0;
		loop_skip(f->loop, 1);
	}
	got[n] = 0;
	const char *id = strcasestr(got, "mcp-session-id: ");
	CHECK(id);
	snprintf(f->session, sizeof(f->session), "%.32s", id + strlen("mcp-session-id: "));
	closep(&l->fd);
}

static void substitute(struct fuzz *f, const uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool name = i + 1 < n && data[i] == '$' && data[i + 1] == 'S';
		if (name)
			buf_add_str(&f->input, f->session);
		else
			buf_add(&f->input, &data[i], 1);
		i += name;
	}
}

int fuzz_one(const uint8_t *data, size_t n)
{
	static const struct config config = { .storage_dir = (char *)"/srv/husk",
					      .execution_timeout = 30,
					      .max_sessions = 3,
					      .max_sessions_per_thread = 3 };
	/* These words make the fake manager produce a lot of output. Answers to HEAD have no body. */
	if (n > 16384 || memmem(data, n, "flood", 5) || memmem(data, n, "plot", 4) || memmem(data, n, "HEAD", 4))
		return 0;
	log_set_level(LOG_ERROR);
	signal(SIGPIPE, SIG_IGN);
	struct fuzz f = { .loop = loop_new() };
	struct manager *manager = manager_new(f.loop, &config);
	f.conversation = conversation_open(manager, NULL);
	f.mcp = mcp_http_new(&(struct mcp_http_spec){
		.loop = f.loop, .config = &config, .extension = n && data[0] & 1 ? fixtures_extension() : NULL });
	f.server =
		http_server_new(f.loop, &(struct http_server_spec){
						.limits = http_limits_default, .on_request = on_request, .ctx = &f });
	begin_session(&f);
	substitute(&f, data, n);
	f.pieces = pieces_of(f.input.data, f.input.len);
	f.timer = timer_new(f.loop, on_turn, &f);
	timer_start(f.timer, 0, 0);
	connect_one(&f);
	loop_run(f.loop);
	timer_free(f.timer);
	manager_free(manager);
	mcp_http_free(f.mcp);
	http_server_free(f.server);
	loop_free(f.loop);
	for (size_t i = 0; i < f.n; i++) {
		closep(&f.links[i].fd);
		http_parser_free(f.links[i].parser);
		http_event_reader_release(&f.links[i].events);
		buf_release(&f.links[i].body);
	}
	buf_release(&f.input);
	return 0;
}
