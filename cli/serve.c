#include "cli/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "api/local.h"
#include "api/page.h"
#include "api/reroute.h"
#include "api/seal.h"
#include "api/server.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/slice.h"
#include "cli/exit.h"
#include "cli/first-key.h"
#include "cli/private-stdio.h"
#include "cli/report.h"
#include "manager/manager.h"
#include "mcp/http.h"

#define DEFAULT_ADDRESS "127.0.0.1:8765"
#define BACKLOG 128
#define SETTLE_MS 2000
/* For sessions, files and the store. */
#define OTHER_DESCRIPTORS 1024

struct service {
	const struct options *options;
	const struct extension *extension;
	struct config config;
	struct loop *loop;
	struct manager *manager;
	struct conversation *conversation;
	struct api *api;
	struct api_spec spec;
	struct local_server *local; /* in the state folder */
	struct mcp_http *mcp;
	struct tls_context *tls;
	char *origin;
	int exit_code;
	struct fail fail;
};

/* --- the address --------------------------------------------------------------------------------------------------- */

struct address {
	struct sockaddr_storage sa;
	socklen_t len;
	bool loopback;
};

static int bad_address(const char *text, struct fail *f)
{
	return fail_set(f, FAIL_INVALID, "--listen '%s' is not ADDRESS:PORT, such as 127.0.0.1:8765 or [::1]:8765",
			text);
}

static int parse_address(const char *text, struct address *ret, struct fail *f)
{
	const char *colon = strrchr(text, ':');
	uint64_t port;
	if (!colon || parse_u64(colon + 1, &port) < 0 || port > 65535)
		return bad_address(text, f);
	AUTO(freep) char *host = xstrndup(text, (size_t)(colon - text));
	struct sockaddr_in *four = (struct sockaddr_in *)&ret->sa;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&ret->sa;
	size_t n = strlen(host);
	*ret = (struct address){ 0 };
	if (n > 2 && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		if (inet_pton(AF_INET6, host + 1, &six->sin6_addr) != 1)
			return bad_address(text, f);
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)port);
		ret->len = sizeof(*six);
		ret->loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
		return 0;
	}
	if (inet_pton(AF_INET, host, &four->sin_addr) != 1)
		return bad_address(text, f);
	four->sin_family = AF_INET;
	four->sin_port = htons((uint16_t)port);
	ret->len = sizeof(*four);
	ret->loopback = ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return 0;
}

/* Without TLS, everybody on the way could read the keys and everything else. */
static int check_plain(const struct service *s, const struct address *a, const char *text, struct fail *f)
{
	if (a->loopback || s->tls || s->options->behind_proxy)
		return 0;
	fail_set(f, FAIL_INVALID, "--listen '%s' is reachable from other machines without encryption", text);
	return fail_hint(f, "Give --tls-cert and --tls-key, or --behind-proxy if a proxy on the way terminates TLS.");
}

/* The port may have been 0, which means any free one. */
static char *bound_host(int fd)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t len = sizeof(sa);
	char text[INET6_ADDRSTRLEN];
	(void)getsockname(fd, (struct sockaddr *)&sa, &len);
	if (sa.ss_family == AF_INET6) {
		const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&sa;
		inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
		return xasprintf("[%s]:%u", text, ntohs(six->sin6_port));
	}
	const struct sockaddr_in *four = (const struct sockaddr_in *)&sa;
	inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
	return xasprintf("%s:%u", text, ntohs(four->sin_port));
}

static int listen_tcp(struct service *s, struct fail *f)
{
	const char *text = s->options->listen ? s->options->listen : DEFAULT_ADDRESS;
	struct address address;
	int on = 1;
	if (parse_address(text, &address, f) < 0 || check_plain(s, &address, text, f) < 0)
		return -1;
	AUTO(closep) int fd = socket(address.sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&address.sa, address.len) < 0 || listen(fd, BACKLOG) < 0) {
		int error = errno;
		fail_set(f, FAIL_INVALID, "cannot listen on %s: %s", text, strerror(error));
		return error == EADDRINUSE ? fail_hint(f, "Another program uses the port; choose one with --listen.") :
					     -1;
	}
	AUTO(freep) char *host = bound_host(fd);
	s->origin = xasprintf("%s://%s", s->tls ? "https" : "http", host);
	int r = api_listen_tcp(s->api, take_fd(fd), s->tls, s->origin, &s->options->hosts);
	return r < 0 ? fail_set(f, FAIL_INTERNAL, "cannot listen on %s: %s", text, strerror(-r)) : 0;
}

static int listen_unix(struct service *s, const char *path, struct fail *f)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct stat st;
	if (strlen(path) >= sizeof(sa.sun_path))
		return fail_set(f, FAIL_INVALID, "--unix '%s' is longer than %zu bytes", path, sizeof(sa.sun_path) - 1);
	memcpy(sa.sun_path, path, strlen(path));
	/* A socket that a former server left behind is replaced; any other file stays. */
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		(void)unlink(path);
	AUTO(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask = umask(0177);
	bool bound = fd >= 0 && bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
	int error = errno;
	umask(mask);
	if (!bound || listen(fd, BACKLOG) < 0)
		return fail_set(f, FAIL_INVALID, "cannot listen on '%s': %s", path, strerror(bound ? errno : error));
	int r = api_listen_unix(s->api, take_fd(fd));
	return r < 0 ? fail_set(f, FAIL_INTERNAL, "cannot listen on '%s': %s", path, strerror(-r)) : 0;
}

/* --- MCP ----------------------------------------------------------------------------------------------------------- */

static void on_mcp(void *ctx, struct http_request *r, struct conversation *c, const struct api_caller *caller)
{
	struct service *s = ctx;
	mcp_http_request(s->mcp, r,
			 &(struct mcp_http_caller){ .conversation = c,
						    .key = caller->key ? caller->key : "",
						    .scopes = caller->scopes,
						    .base = caller->base,
						    .final = caller->final,
						    .number = caller->number });
}

static char *export_link(void *ctx, const char *base, const char *export_id)
{
	const struct service *s = ctx;
	return api_export_link(s->api, base, export_id);
}

static char *seal(void *ctx, const struct conversation *c, const char *key, const char *text)
{
	const struct service *s = ctx;
	AUTO(freep) char *context = seal_context(c, key);
	return seal_make(s->api, text, context);
}

static char *unseal(void *ctx, const struct conversation *c, const char *key, const char *sealed)
{
	const struct service *s = ctx;
	AUTO(freep) char *context = seal_context(c, key);
	return seal_open(s->api, sealed, context);
}

static struct reroute_spec transfer_spec_of(const struct mcp_http_transfer *t)
{
	return (struct reroute_spec){ .request = t->request,
				      .conversation = t->conversation,
				      .key = t->key,
				      .scopes = t->scopes,
				      .session = t->session,
				      .task = t->task,
				      .address = t->address,
				      .number = t->number,
				      .body = t->body,
				      .n = t->n,
				      .here = t->here,
				      .gone = t->gone,
				      .passed = t->passed,
				      .ctx = t->ticket };
}

static bool transfer(void *ctx, const struct mcp_http_transfer *t)
{
	const struct service *s = ctx;
	struct reroute_spec spec = transfer_spec_of(t);
	return reroute_begin(s->api, &spec);
}

static void copy(void *ctx, const struct mcp_http_transfer *t, const char *address, uint64_t number)
{
	const struct service *s = ctx;
	struct reroute_spec spec = transfer_spec_of(t);
	reroute_copy(s->api, &spec, address, number);
}

static void on_close(void *ctx, struct conversation *c)
{
	struct service *s = ctx;
	mcp_http_forget(s->mcp, c);
}

/* --- how to connect ------------------------------------------------------------------------------------------------ */

static void print_config(const char *title, const char *member, const char *url, const char *key, bool type)
{
	AUTO(freep) char *bearer = xasprintf("Bearer %s", key);
	json_auto_t *config =
		json_pack("{s:{s:{s:s, s:{s:s}}}}", member, "husk", "url", url, "headers", "Authorization", bearer);
	if (type)
		json_object_set_new(json_object_get(json_object_get(config, member), "husk"), "type",
				    json_string("http"));
	AUTO(freep) char *text = json_dumps(config, JSON_INDENT(2));
	printf("%s:\n\n%s\n\n", title, text);
}

static void print_how_to_connect(const struct service *s, const char *key, const char *path)
{
	AUTO(freep) char *url = xasprintf("%s/mcp", s->origin);
	printf("Husk listens on %s. The key of this user is in %s.\n\n", s->origin, path);
	printf("Claude Code:\n\nclaude mcp add --transport http husk %s --header \"Authorization: Bearer %s\"\n\n", url,
	       key);
	print_config("Cursor (~/.cursor/mcp.json)", "mcpServers", url, key, /* type= */ false);
	print_config("VS Code (.vscode/mcp.json)", "servers", url, key, /* type= */ true);
	printf("A browser: run `husk ui`, or open %s/ui/ and give the key.\n\n", s->origin);
	printf("A program:\n\ncurl -H \"Authorization: Bearer $(cat %s)\" %s/v1/sessions\n", path, s->origin);
	fflush(stdout);
}

/* --- life ---------------------------------------------------------------------------------------------------------- */

static void on_settled(void *ctx)
{
	struct service *s = ctx;
	loop_stop(s->loop, s->exit_code);
}

static void on_signal(void *ctx, int signo UNUSED)
{
	struct service *s = ctx;
	mcp_http_stop(s->mcp);
	api_drain(s->api);
	manager_settle(s->manager, SETTLE_MS, on_settled, s);
}

static int listen_all(struct service *s)
{
	if (s->options->unix_path && listen_unix(s, s->options->unix_path, &s->fail) < 0)
		return -1;
	if (listen_tcp(s, &s->fail) < 0)
		return -1;
	s->local = local_server_new(&s->spec, s->api);
	return 0;
}

static void on_key(void *ctx, const char *key, const char *path, const struct fail *f)
{
	struct service *s = ctx;
	if (f)
		fail_copy(&s->fail, f);
	if (f || listen_all(s) < 0) {
		loop_stop(s->loop, 0);
		return;
	}
	print_how_to_connect(s, key, path);
	conversation_wake(s->conversation);
}

/* Each connection takes a descriptor. The usual limit is 1,024, and the one that a process may choose is far higher. */
static void allow_descriptors(uint64_t n)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= n)
		return;
	limit.rlim_cur = MIN((rlim_t)n, limit.rlim_max);
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int serve(struct service *s)
{
	allow_descriptors(s->config.serve_max_connections + OTHER_DESCRIPTORS);
	s->loop = loop_new();
	loop_keep_memory(s->loop);
	slice_shorten();
	s->manager = manager_new(s->loop, &s->config);
	s->conversation = conversation_open(s->manager, /* spec= */ NULL);
	s->mcp = mcp_http_new(&(struct mcp_http_spec){ .loop = s->loop,
						       .config = &s->config,
						       .extension = s->extension,
						       .app = page_app,
						       .link = export_link,
						       .seal = seal,
						       .unseal = unseal,
						       .transfer = transfer,
						       .copy = copy,
						       .ctx = s });
	s->spec = (struct api_spec){ .loop = s->loop,
				     .config = &s->config,
				     .manager = s->manager,
				     .conversation = s->conversation,
				     .on_mcp = on_mcp,
				     .on_close = on_close,
				     .mcp_ctx = s,
				     .env_file = s->options->env_file,
				     .page = page_files,
				     .for_all = true };
	s->api = api_new(&s->spec);
	struct signals *signals = signals_new(s->loop, on_signal, s);
	first_key_get(&(struct first_key_request){
		.loop = s->loop, .manager = s->manager, .config = &s->config, .on_done = on_key, .ctx = s });
	int code = loop_run(s->loop);
	signals_free(signals);
	manager_free(s->manager);
	mcp_http_free(s->mcp);
	local_server_free(s->local, /* manager_gone= */ true);
	api_free(s->api);
	tls_context_free(s->tls);
	loop_free(s->loop);
	return s->fail.kind ? report_fail(&s->fail) : code;
}

static int prepare(struct service *s, struct fail *f)
{
	const struct options *o = s->options;
	if (settings_load(&s->config, o->env_file, f) < 0)
		return -1;
	for (size_t i = 0; i < o->allowed.n; i++)
		if (config_allow_dir(&s->config, "option --allow", o->allowed.v[i], f) < 0)
			return -1;
	if (!o->tls_cert != !o->tls_key)
		return fail_set(f, FAIL_INVALID, "--tls-cert and --tls-key belong together");
	if (!o->tls_cert)
		return 0;
	s->tls = tls_context_server(o->tls_cert, o->tls_key, f);
	return s->tls ? 0 : -1;
}

int serve_run(const struct options *options, const struct extension *extension)
{
	struct service s = { .options = options, .extension = extension };
	AUTO(fail_release) struct fail f = { 0 };
	(void)stdio_fill_gaps();
	int code = prepare(&s, &f) < 0 ? report_refusal(&f, options->verb) : serve(&s);
	fail_release(&s.fail);
	free(s.origin);
	config_release(&s.config);
	return code;
}
