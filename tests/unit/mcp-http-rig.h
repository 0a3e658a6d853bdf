/* MCP over HTTP with a manager that needs no engine, and functions to send requests and read their answers. */
#ifndef HUSK_TESTS_MCP_HTTP_RIG_H
#define HUSK_TESTS_MCP_HTTP_RIG_H

#include <jansson.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "mcp/http.h"
#include "tests/fake-manager/fake-manager.h"
#include "tests/unit/http-rig.h"
#include "tests/unit/unit.h"

#define MODERN "2026-07-28"
#define META                                                                                                           \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN                                             \
	"\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define VERSION "MCP-Protocol-Version: " MODERN "\r\n"
#define BOTH "Accept: application/json, text/event-stream\r\n"

struct wire {
	struct http_rig http; /* first, for the handler */
	struct manager *manager;
	struct conversation *conversation, *other;
	struct mcp_http *mcp;
	int fd; /* of the last request */
	struct buf got;
	char session[40];
	const char *version; /* of the session */
};

static const struct config wire_config = {
	.memory_limit = 2048ull << 20,
	.tmpfs_size = 200u << 20,
	.execution_timeout = 30,
	.max_sessions = 5,
	.max_sessions_per_thread = 3,
	.storage_dir = (char *)"/srv/husk",
	.prompts = PROMPTS_USER,
};

/* The caller is chosen by headers: a key, and whether it has another conversation. X-Small: the system buffers little
 * for this client. X-Scopes: the key may only run. */
UNUSED static void wire_request(struct http_rig *rig, struct http_request *r)
{
	struct wire *w = (struct wire *)rig;
	const struct http_fields *f = &http_request_head(r)->fields;
	const char *key = http_fields_get(f, "x-key");
	if (http_fields_get(f, "x-small"))
		setsockopt(http_request_fd(r), SOL_SOCKET, SO_SNDBUF, &(int){ 2048 }, sizeof(int));
	mcp_http_request(
		w->mcp, r,
		&(struct mcp_http_caller){ .conversation = http_fields_get(f, "x-other") ? w->other : w->conversation,
					   .key = key ? key : "k",
					   .base = "http://h",
					   .scopes = http_fields_get(f, "x-scopes") ? SCOPE_RUN : SCOPES_DEFAULT });
}

UNUSED static char *wire_link(void *ctx UNUSED, const char *base, const char *export_id)
{
	return xasprintf("%s/link/%s", base, export_id);
}

UNUSED static int wire_up_with(void **state, const struct mcp_http_spec *more)
{
	struct wire *w = new0(struct wire);
	struct mcp_http_spec spec = *more;
	fake = (struct fake_counters){ 0 };
	signal(SIGPIPE, SIG_IGN);
	http_rig_init(&w->http, NULL);
	w->http.on_other = wire_request;
	w->manager = manager_new(w->http.loop, &wire_config);
	w->conversation = conversation_open(w->manager, NULL);
	w->other = conversation_open(w->manager, &(struct conversation_spec){ .id = "other" });
	spec.loop = w->http.loop;
	spec.config = &wire_config;
	spec.link = wire_link;
	w->mcp = mcp_http_new(&spec);
	w->fd = -1;
	*state = w;
	return 0;
}

UNUSED static int wire_up(void **state)
{
	return wire_up_with(state, &(struct mcp_http_spec){ 0 });
}

UNUSED static int wire_up_impatient(void **state)
{
	return wire_up_with(state, &(struct mcp_http_spec){ .unsent_max = 4096 });
}

UNUSED static int wire_down(void **state)
{
	struct wire *w = *state;
	manager_free(w->manager);
	mcp_http_free(w->mcp);
	http_rig_release(&w->http);
	closep(&w->fd);
	buf_release(&w->got);
	free(w);
	return 0;
}

/* Sends a request on a new connection and does not wait for its answer. */
UNUSED static int wire_begin(struct wire *w, const char *method, const char *headers, const char *body)
{
	AUTO(buf_release) struct buf text = { 0 };
	int fd = http_rig_connect(&w->http);
	buf_printf(&text, "%s /other/mcp HTTP/1.1\r\nHost: h\r\n%s", method, headers);
	if (body)
		buf_printf(&text, "Content-Length: %zu\r\n%s\r\n%s", strlen(body),
			   strcasestr(headers, "content-type") ? "" : "Content-Type: application/json\r\n", body);
	else
		buf_add_str(&text, "\r\n");
	http_rig_send(&w->http, fd, buf_str(&text));
	return fd;
}

UNUSED static bool wire_complete(struct buf *got)
{
	const char *text = buf_str(got), *head = strstr(text, "\r\n\r\n");
	if (!head)
		return false;
	const char *length = strcasestr(text, "content-length: ");
	if (length && length < head)
		return got->len >= (size_t)(head + 4 - text) + strtoul(length + 16, NULL, 10);
	if (strncmp(text, "HTTP/1.1 204", 12) == 0)
		return true;
	return strstr(head, "\r\n0\r\n\r\n");
}

/* Reads until `want` has arrived, or the whole answer if it is NULL. */
UNUSED static const char *wire_read(struct wire *w, int fd, const char *want)
{
	uint64_t until = loop_now_ms() + 5000;
	char chunk[65536];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));
		if (n > 0)
			buf_add(&w->got, chunk, (size_t)n);
		if (want ? strstr(buf_str(&w->got), want) != NULL : wire_complete(&w->got))
			break;
		if (n == 0 || loop_now_ms() > until)
			fail_msg("'%s' did not arrive: %s", want ? want : "the answer", buf_str(&w->got));
		http_rig_turn(&w->http);
	}
	return buf_str(&w->got);
}

/* Sends a request and waits for the whole answer. Returns its status. */
UNUSED static int wire_ask(struct wire *w, const char *method, const char *headers, const char *body)
{
	closep(&w->fd);
	buf_reset(&w->got);
	w->fd = wire_begin(w, method, headers, body);
	const char *text = wire_read(w, w->fd, NULL);
	return (int)strtol(text + strlen("HTTP/1.1 "), NULL, 10);
}

UNUSED static const char *wire_body(struct wire *w)
{
	const char *head = strstr(buf_str(&w->got), "\r\n\r\n");
	return head ? head + 4 : "";
}

/* The answer as JSON. New reference. */
UNUSED static json_t *wire_json(struct wire *w)
{
	json_t *m = json_loads(wire_body(w), JSON_REJECT_DUPLICATES, NULL);
	if (!m)
		fail_msg("not JSON: %s", buf_str(&w->got));
	return m;
}

/* The error code of the answer; 0 = a result. */
UNUSED static int wire_code(struct wire *w)
{
	json_auto_t *m = wire_json(w);
	return (int)json_integer_value(json_object_get(json_object_get(m, "error"), "code"));
}

/* A request of 2026-07-28 with correct headers. `params` are members before _meta, such as "\"name\":\"x\",". */
UNUSED static char *modern_body(const char *id, const char *method, const char *params)
{
	return xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{%s" META "}}", id, method,
			 params);
}

UNUSED static int modern_ask(struct wire *w, const char *method, const char *name, const char *params)
{
	AUTO(freep) char *body = modern_body("1", method, params);
	AUTO(freep) char *headers = xasprintf(BOTH VERSION "Mcp-Method: %s\r\n%s%s%s", method, name ? "Mcp-Name: " : "",
					      name ? name : "", name ? "\r\n" : "");
	return wire_ask(w, "POST", headers, body);
}

/* Begins a call of execute_code; `token` = with a progress token. */
UNUSED static int modern_run(struct wire *w, const char *code, bool token)
{
	AUTO(freep) char *body = xasprintf(
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_code\",\"arguments\":{\"session_id\":\"s\","
		"\"code\":\"%s\"},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" MODERN
		"\",\"io.modelcontextprotocol/clientCapabilities\":{}%s}}}",
		code, token ? ",\"progressToken\":\"t\"" : "");
	return wire_begin(w, "POST", BOTH VERSION "Mcp-Method: tools/call\r\nMcp-Name: execute_code\r\n", body);
}

/* Begins a session of an older revision. */
UNUSED static int legacy_begin(struct wire *w, const char *version, const char *headers, const char *capabilities)
{
	AUTO(freep) char *body = xasprintf(
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{%s},"
		"\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
		version, capabilities);
	AUTO(freep) char *all = xasprintf(BOTH "%s", headers);
	int status = wire_ask(w, "POST", all, body);
	const char *id = strcasestr(buf_str(&w->got), "mcp-session-id: ");
	snprintf(w->session, sizeof(w->session), "%.32s", id ? id + strlen("mcp-session-id: ") : "");
	w->version = version;
	return status;
}

/* The headers of a request in the session. The caller frees them. */
UNUSED static char *legacy_headers(struct wire *w, const char *more)
{
	return xasprintf(BOTH "MCP-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n%s", w->version, w->session, more);
}

UNUSED static int legacy_ask(struct wire *w, const char *method, const char *more, const char *body)
{
	AUTO(freep) char *headers = legacy_headers(w, more);
	return wire_ask(w, method, headers, body);
}

UNUSED static int legacy_start(struct wire *w, const char *method, const char *more, const char *body)
{
	AUTO(freep) char *headers = legacy_headers(w, more);
	return wire_begin(w, method, headers, body);
}

/* Begins a call of execute_code with a progress token. */
UNUSED static int legacy_run(struct wire *w, const char *id, const char *code)
{
	AUTO(freep) char *body = xasprintf(
		"{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_code\",\"arguments\":{\"session_id\":\"s\","
		"\"code\":\"%s\"},\"_meta\":{\"progressToken\":\"t\"}}}",
		id, code);
	return legacy_start(w, "POST", "", body);
}

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

#endif
