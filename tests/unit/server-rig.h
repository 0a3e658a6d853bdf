/* A server on pipes over a manager that needs no engine, with functions to send and receive messages. */
#ifndef HUSK_TESTS_SERVER_RIG_H
#define HUSK_TESTS_SERVER_RIG_H

#include <fcntl.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/lines.h"
#include "mcp/server.h"
#include "tests/fake-manager/fake-manager.h"
#include "tests/unit/unit.h"

#define META                                                                                                           \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                       \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"

static const struct config config = {
	.memory_limit = 2048ull << 20,
	.cpu_quota = 200000,
	.pids_limit = 512,
	.tmpfs_size = 200u << 20,
	.execution_timeout = 30,
	.max_sessions = 5,
	.max_sessions_per_thread = 3,
	.idle_ttl = 1800,
	.storage_dir = (char *)"/srv/husk",
	.max_lifetime = 7200,
	.network_enabled = true,
	.prompts = PROMPTS_USER,
};

struct rig {
	struct loop *loop;
	struct manager *manager;
	struct server *server;
	int to, from;
	struct line_splitter splitter;
	struct timer *timer;
	int ended; /* -1 while it runs; then whether the server closed the connection */
};

UNUSED static void on_end(void *ctx, bool gave_up)
{
	struct rig *r = ctx;
	r->ended = gave_up;
	loop_stop(r->loop, 0);
}

UNUSED static void on_tick(void *ctx)
{
	loop_stop(ctx, 0);
}

UNUSED static void turn(struct rig *r, uint64_t ms)
{
	if (r->ended >= 0)
		return;
	timer_start(r->timer, ms, 0);
	loop_run(r->loop);
}

UNUSED static int set_up(void **state)
{
	int in[2], out[2];
	struct rig *r = new0(struct rig);
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -1;
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fake = (struct fake_counters){ 0 };
	r->loop = loop_new();
	r->manager = manager_new(r->loop, &config);
	r->ended = -1;
	r->to = in[1];
	r->from = out[0];
	r->splitter.max = 64u << 20;
	r->timer = timer_new(r->loop, on_tick, r->loop);
	r->server = server_new(&(struct server_spec){ .loop = r->loop,
						      .conversation = conversation_open(r->manager, NULL),
						      .config = &config,
						      .app = "<!doctype html>",
						      .in_fd = in[0],
						      .out_fd = out[1],
						      .on_end = on_end,
						      .ctx = r });
	*state = r;
	return r->server ? 0 : -1;
}

UNUSED static int tear_down(void **state)
{
	struct rig *r = *state;
	manager_free(r->manager);
	server_free(r->server);
	timer_free(r->timer);
	loop_free(r->loop);
	line_splitter_release(&r->splitter);
	closep(&r->to);
	closep(&r->from);
	free(r);
	return 0;
}

UNUSED static void send_bytes(struct rig *r, const char *data, size_t n)
{
	while (n > 0) {
		ssize_t done = write(r->to, data, MIN(n, (size_t)16384));
		assert_true(done > 0);
		data += done;
		n -= (size_t)done;
		turn(r, 0);
	}
}

UNUSED static void send(struct rig *r, const char *line)
{
	AUTO(freep) char *framed = xasprintf("%s\n", line);
	send_bytes(r, framed, strlen(framed));
}

/* The next message, or NULL if none comes within this many milliseconds. */
UNUSED static json_t *receive(struct rig *r, uint64_t ms)
{
	const char *line;
	size_t n;
	for (uint64_t end = loop_now_ms() + ms;;) {
		if (line_splitter_next(&r->splitter, false, &line, &n) == LINE_READY) {
			json_t *message = json_loadb(line, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
			assert_non_null(message);
			return message;
		}
		char chunk[65536];
		ssize_t got = read(r->from, chunk, sizeof(chunk));
		if (got > 0)
			line_splitter_feed(&r->splitter, chunk, (size_t)got);
		else if (loop_now_ms() >= end)
			return NULL;
		else
			turn(r, 1);
	}
}

UNUSED static const json_t *at(const json_t *v, const char *path)
{
	AUTO(freep) char *copy = xstrdup(path);
	char *rest = copy;
	for (char *key; v && (key = strsep(&rest, "|"));)
		v = json_is_array(v) ? json_array_get(v, (size_t)(*key - '0')) : json_object_get(v, key);
	return v;
}

UNUSED static const char *text_at(const json_t *v, const char *path)
{
	const char *s = json_string_value(at(v, path));
	return s ? s : "(none)";
}

UNUSED static void quiet(struct rig *r)
{
	json_t *message = receive(r, 20);
	if (message) {
		AUTO(freep) char *text = json_dumps(message, JSON_COMPACT);
		fail_msg("unexpected: %s", text);
	}
}

/* Sends a line and checks its answer: "ID CODE" for an error, "ID ok" for a result. */
UNUSED static void expect(struct rig *r, const char *line, const char *want)
{
	send(r, line);
	json_auto_t *m = receive(r, 1000);
	AUTO(freep) char *id =
		json_object_get(m, "id") ? json_dumps(json_object_get(m, "id"), JSON_ENCODE_ANY) : xstrdup("-");
	const json_t *code = at(m, "error|code");
	AUTO(freep) char *got = code ? xasprintf("%s %lld", id, (long long)json_integer_value(code)) :
				       xasprintf("%s %s", id, at(m, "result") ? "ok" : "nothing");
	if (strcmp(got, want) != 0)
		print_error("for %.200s\n", line);
	assert_string_equal(got, want);
}

UNUSED static void initialize(struct rig *r, const char *version)
{
	AUTO(freep) char *line = xasprintf(
		"{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\","
		"\"version\":\"1\"}}}",
		version);
	expect(r, line, "\"init\" ok");
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

UNUSED static void call_tool(struct rig *r, const char *id, const char *tool, const char *args)
{
	AUTO(freep) char *line = xasprintf(
		"{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":%s}}",
		id, tool, args);
	send(r, line);
}

#endif
