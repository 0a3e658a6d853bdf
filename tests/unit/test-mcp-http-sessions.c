/* mcp/http, older revisions: sessions, their streams, resuming, batches and limits. */
#include "tests/unit/mcp-http-rig.h"

#define NEW "2025-11-25"

/* Waits until the fake manager has finished as many runs. */
static void wait_done(struct wire *w, unsigned done)
{
	for (int turns = 0; fake.done < done && turns < 2000; turns++)
		http_rig_turn(&w->http);
	assert_int_equal(fake.done, done);
}

/* --- sessions --------------------------------------------------------------------------------------------- */

static void initialize_begins_a_session(void **state)
{
	struct wire *w = *state;
	assert_int_equal(legacy_begin(w, NEW, "", ""), 200);
	json_auto_t *m = wire_json(w);
	assert_string_equal(json_string_value(json_object_get(json_object_get(m, "result"), "protocolVersion")), NEW);
	assert_int_equal(strlen(w->session), 32);
	assert_int_equal(strspn(w->session, "0123456789abcdef"), 32);
	assert_int_equal(legacy_ask(w, "POST", "", INITIALIZED), 202);
	assert_string_equal(wire_body(w), "");
	assert_int_equal(legacy_ask(w, "POST", "", PING), 200);
	assert_null(strcasestr(buf_str(&w->got), "mcp-session-id"));
	assert_int_equal(wire_code(w), 0);
	/* Clients of these revisions read errors only from answers with status 200. */
	assert_int_equal(legacy_ask(w, "POST", "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}"), 200);
	assert_int_equal(wire_code(w), -32601);
}

static void a_failed_initialize_begins_nothing(void **state)
{
	struct wire *w = *state;
	assert_int_equal(wire_ask(w, "POST", BOTH, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\"}"), 200);
	assert_int_equal(wire_code(w), -32602);
	assert_null(strcasestr(buf_str(&w->got), "mcp-session-id"));
	assert_int_equal(mcp_http_sessions(w->mcp), 0);
}

static void a_session_is_required_and_belongs_to_its_key(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	static const struct {
		const char *headers;
		int status;
	} cases[] = {
		{ "", 400 },
		{ "MCP-Protocol-Version: " NEW "\r\n", 400 },
		{ "Mcp-Session-Id: 00000000000000000000000000000000\r\n", 404 },
		{ "Mcp-Session-Id: %s\r\n", 200 },
		{ "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 2025-06-18\r\n", 200 },
		{ "Mcp-Session-Id: %s\r\nMCP-Protocol-Version: 1900-01-01\r\n", 400 },
		{ "Mcp-Session-Id: %s\r\nX-Key: another\r\n", 404 },
		{ "Mcp-Session-Id: %s\r\nX-Other: 1\r\n", 404 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(buf_release) struct buf headers = { 0 };
		const char *hole = strstr(cases[i].headers, "%s");
		size_t before = hole ? (size_t)(hole - cases[i].headers) : strlen(cases[i].headers);
		buf_printf(&headers, BOTH "%.*s%s%s", (int)before, cases[i].headers, hole ? w->session : "",
			   hole ? hole + 2 : "");
		int status = wire_ask(w, "POST", buf_str(&headers), PING);
		if (status != cases[i].status)
			fail_msg("case %zu: %d", i, status);
		if (i < 2 || i == 5)
			continue;
		/* A DELETE with a wrong key must not end it. */
		if (status == 404)
			assert_int_equal(wire_ask(w, "DELETE", buf_str(&headers), NULL), 404);
	}
	assert_int_equal(mcp_http_sessions(w->mcp), 1);
}

static void a_delete_ends_the_session(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	int running = legacy_run(w, "1", "wait"), reading = legacy_start(w, "GET", "", NULL);
	wire_read(w, reading, "retry: ");
	assert_int_equal(legacy_ask(w, "DELETE", "", NULL), 204);
	assert_int_equal(fake.cancelled, 1);
	buf_reset(&w->got);
	wire_read(w, running, "\r\n0\r\n\r\n");
	buf_reset(&w->got);
	wire_read(w, reading, "0\r\n\r\n");
	closep(&running);
	closep(&reading);
	assert_int_equal(legacy_ask(w, "POST", "", PING), 404);
	assert_int_equal(legacy_ask(w, "DELETE", "", NULL), 404);
	assert_int_equal(legacy_ask(w, "GET", "", NULL), 404);
	assert_int_equal(mcp_http_sessions(w->mcp), 0);
}

static void an_idle_session_ends(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	int reading = legacy_start(w, "GET", "", NULL);
	wire_read(w, reading, "retry: ");
	/* A session with an open stream is not idle. */
	loop_skip(w->http.loop, 180000);
	assert_int_equal(mcp_http_sessions(w->mcp), 1);
	closep(&reading);
	http_rig_turn(&w->http);
	loop_skip(w->http.loop, 50000);
	assert_int_equal(legacy_ask(w, "POST", "", PING), 200);
	loop_skip(w->http.loop, 50000);
	assert_int_equal(mcp_http_sessions(w->mcp), 1);
	loop_skip(w->http.loop, 20000);
	assert_int_equal(mcp_http_sessions(w->mcp), 0);
	assert_int_equal(legacy_ask(w, "POST", "", PING), 404);
}

static int idle_for_a_minute(void **state)
{
	return wire_up_with(state, &(struct mcp_http_spec){ .idle_ms = 60000 });
}

static int few_sessions(void **state)
{
	return wire_up_with(state, &(struct mcp_http_spec){ .sessions_max = 3, .sessions_per_key = 2 });
}

static void the_number_of_sessions_is_limited(void **state)
{
	struct wire *w = *state;
	char first[40];
	legacy_begin(w, NEW, "", "");
	memcpy(first, w->session, sizeof(first));
	legacy_begin(w, NEW, "", "");
	int reading = legacy_start(w, "GET", "", NULL);
	wire_read(w, reading, "retry: ");
	/* The session that was idle for longest makes room, never one of another key that could stay. */
	assert_int_equal(legacy_begin(w, NEW, "", ""), 200);
	assert_int_equal(mcp_http_sessions(w->mcp), 2);
	int more = legacy_start(w, "GET", "", NULL);
	buf_reset(&w->got);
	wire_read(w, more, "retry: ");
	assert_int_equal(legacy_begin(w, NEW, "", ""), 429);
	assert_int_equal(legacy_begin(w, NEW, "X-Key: b\r\n", ""), 200);
	assert_int_equal(legacy_begin(w, NEW, "X-Key: c\r\n", ""), 200);
	assert_int_equal(mcp_http_sessions(w->mcp), 3);
	memcpy(w->session, first, sizeof(first));
	assert_int_equal(legacy_ask(w, "POST", "", PING), 404);
	closep(&reading);
	closep(&more);
}

/* --- streams ---------------------------------------------------------------------------------------------- */

static void a_stream_begins_with_an_empty_event_in_the_newest_revision(void **state)
{
	struct wire *w = *state;
	static const struct {
		const char *version;
		bool primes;
	} cases[] = { { NEW, true }, { "2025-06-18", false }, { "2025-03-26", false } };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		legacy_begin(w, cases[i].version, "", "");
		buf_reset(&w->got);
		closep(&w->fd);
		w->fd = legacy_run(w, "1", "chatter 900");
		const char *text = wire_read(w, w->fd, NULL);
		const char *first = strstr(text, "retry: 1000\nid: 2-0\ndata: \n\n");
		const char *progress = strstr(text, "id: 2-1\nevent: message\ndata: {");
		assert_int_equal(first != NULL, cases[i].primes);
		assert_true(progress && (!first || first < progress));
		assert_non_null(strstr(progress, "\"result\":"));
		assert_non_null(strcasestr(text, "\r\nx-accel-buffering: no\r\n"));
	}
}

/* Begins a call and closes its connection after the first event. Returns the id of that event. */
static char *break_off(struct wire *w, const char *code)
{
	buf_reset(&w->got);
	int fd = legacy_run(w, "1", code);
	const char *text = wire_read(w, fd, "notifications/progress");
	wire_read(w, fd, "\n\n\r\n");
	closep(&fd);
	for (int i = 0; i < 5; i++)
		http_rig_turn(&w->http);
	const char *id = strstr(text, "event: message");
	while (id > text && strncmp(id, "id: ", 4) != 0)
		id--;
	size_t n = strcspn(id + 4, "\n");
	return xasprintf("Last-Event-ID: %.*s\r\n", (int)n, id + 4);
}

static void a_broken_stream_is_resumed(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	AUTO(freep) char *last = break_off(w, "chatter 900");
	assert_string_equal(last, "Last-Event-ID: 2-1\r\n");
	assert_int_equal(fake.cancelled, 0);
	wait_done(w, 1);
	/* The call has ended meanwhile: its answer was kept. */
	assert_int_equal(legacy_ask(w, "GET", last, NULL), 200);
	const char *text = buf_str(&w->got), *result = strstr(text, "\"result\":");
	assert_non_null(strstr(text, "retry: 1000\nid: 2-1\ndata: \n\n"));
	assert_non_null(result);
	assert_null(strstr(text, "id: 2-1\nevent"));
	/* It can be resumed again, until everything was read. */
	assert_int_equal(legacy_ask(w, "GET", last, NULL), 200);
	assert_non_null(strstr(buf_str(&w->got), "\"result\":"));
	const char *id = strstr(buf_str(&w->got), "event: message");
	while (strncmp(id, "id: ", 4) != 0)
		id--;
	AUTO(freep) char *end = xasprintf("Last-Event-ID: %.*s\r\n", (int)strcspn(id + 4, "\n"), id + 4);
	assert_int_equal(legacy_ask(w, "GET", end, NULL), 204);
	assert_int_equal(legacy_ask(w, "GET", "Last-Event-ID: 99-1\r\n", NULL), 410);
	assert_int_equal(legacy_ask(w, "GET", "Last-Event-ID: 2-99\r\n", NULL), 410);
	assert_int_equal(legacy_ask(w, "GET", "Last-Event-ID: x\r\n", NULL), 410);
	/* Some minutes after its end the stream is forgotten. */
	assert_true(mcp_http_kept(w->mcp) > 0);
	loop_skip(w->http.loop, 310000);
	assert_int_equal(mcp_http_kept(w->mcp), 0);
	assert_int_equal(legacy_ask(w, "GET", last, NULL), 410);
}

static void a_running_stream_is_resumed(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	AUTO(freep) char *last = break_off(w, "chatter 1700");
	closep(&w->fd);
	buf_reset(&w->got);
	w->fd = legacy_start(w, "GET", last, NULL);
	const char *text = wire_read(w, w->fd, NULL);
	assert_non_null(strstr(text, "notifications/progress"));
	assert_non_null(strstr(text, "\"result\":"));
	assert_null(strstr(text, "id: 2-1\nevent"));
}

static void a_cancelled_call_ends_its_stream_without_an_answer(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	int quiet = legacy_run(w, "7", "wait");
	int talks = legacy_run(w, "8", "chatter 60000");
	buf_reset(&w->got);
	wire_read(w, talks, "notifications/progress");
	for (int id = 7; id <= 8; id++) {
		AUTO(freep) char *cancel = xasprintf(
			"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%d}}",
			id);
		assert_int_equal(legacy_ask(w, "POST", "", cancel), 202);
	}
	assert_int_equal(fake.cancelled, 2);
	int fds[] = { quiet, talks };
	for (int i = 0; i < 2; i++) {
		buf_reset(&w->got);
		wire_read(w, fds[i], "0\r\n\r\n");
		assert_null(strstr(buf_str(&w->got), "\"result\":"));
		closep(&fds[i]);
	}
}

#define EXPORT                                                                                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"export_files\",\"arguments\":{" \
	"\"session_id\":\"s\",\"files\":[{\"source\":\"a\"}]}}}"

static void messages_without_a_request_go_to_the_get_stream(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	/* Kept until there is a reader. */
	assert_int_equal(legacy_ask(w, "POST", "", EXPORT), 200);
	assert_null(strstr(buf_str(&w->got), "list_changed"));
	int fd = legacy_start(w, "GET", "", NULL);
	buf_reset(&w->got);
	wire_read(
		w, fd,
		"id: 0-1\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/list_changed\"");
	assert_non_null(strstr(buf_str(&w->got), "retry: 1000\nid: 0-0\ndata: \n\n"));
	assert_int_equal(legacy_ask(w, "POST", "", EXPORT), 200);
	buf_reset(&w->got);
	wire_read(w, fd, "id: 0-2\n");
	/* A second reader takes the place of the first, and gets what is new. */
	int second = legacy_start(w, "GET", "", NULL);
	buf_reset(&w->got);
	wire_read(w, fd, "0\r\n\r\n");
	buf_reset(&w->got);
	wire_read(w, second, "id: 0-2\ndata: \n\n");
	assert_null(strstr(buf_str(&w->got), "list_changed"));
	/* A reader that lost the connection after the first event names it. */
	int third = legacy_start(w, "GET", "Last-Event-ID: 0-1\r\n", NULL);
	buf_reset(&w->got);
	wire_read(w, third, "id: 0-2\nevent: message\n");
	closep(&fd);
	closep(&second);
	closep(&third);
}

static void sessions_of_a_conversation_hear_of_each_others_exports(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	int fd = legacy_start(w, "GET", "", NULL);
	legacy_begin(w, NEW, "", "");
	assert_int_equal(legacy_ask(w, "POST", "", EXPORT), 200);
	buf_reset(&w->got);
	wire_read(w, fd, "list_changed");
	closep(&fd);
}

static void the_user_is_asked_on_the_stream_of_the_call(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "\"elicitation\":{}");
	int fd = legacy_start(
		w, "POST", "",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_code\",\"arguments\":{\"session_id\":\"s\","
		"\"code\":\"ask\",\"interactive\":true}}}");
	buf_reset(&w->got);
	const char *text = wire_read(w, fd, "elicitation/create");
	assert_non_null(strstr(text, "\"id\":\"husk-1\""));
	assert_int_equal(
		legacy_ask(
			w, "POST", "",
			"{\"jsonrpc\":\"2.0\",\"id\":\"husk-1\",\"result\":{\"action\":\"accept\",\"content\":{\"input\":\"Ada\"}}}"),
		202);
	buf_reset(&w->got);
	wire_read(w, fd, "\"result\":");
	assert_non_null(strstr(buf_str(&w->got), "Ada"));
	closep(&fd);
}

/* A client elsewhere could otherwise name any folder of this host as its root. */
static void paths_of_the_host_are_refused(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "\"roots\":{}");
	assert_int_equal(
		legacy_ask(
			w, "POST", "",
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"import_files\",\"arguments\":"
			"{\"session_id\":\"s\",\"files\":[{\"source\":\"/srv/husk/x\"}]}}}"),
		200);
	assert_non_null(strstr(wire_body(w), "paths of the host cannot be imported over HTTP"));
	assert_int_equal(legacy_ask(w, "POST", "", EXPORT), 200);
	assert_null(strstr(wire_body(w), "host_path"));
	assert_null(strstr(wire_body(w), "/exports/00"));
	assert_int_equal(legacy_ask(w, "POST", "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"), 200);
	static const char *const hidden[] = {
		"/srv/husk", "host_path",
		"\"source\":{\"type\":\"string\",\"description\":\"File or directory on the host"
	};
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		assert_null(strstr(wire_body(w), hidden[i]));
}

/* Instead of a path, answers have a link that the client can open. */
static void exports_have_links(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	assert_int_equal(legacy_ask(w, "POST", "", EXPORT), 200);
	json_auto_t *answer = wire_json(w);
	json_t *result = json_object_get(answer, "result");
	json_t *files = json_object_get(json_object_get(result, "structuredContent"), "files");
	const json_t *link = json_array_get(json_object_get(result, "content"), 1);
	assert_string_equal(json_string_value(json_object_get(json_array_get(files, 0), "download_url")),
			    "http://h/link/e1");
	assert_string_equal(json_string_value(json_object_get(json_object_get(link, "_meta"), "dev.husk/download_url")),
			    "http://h/link/e1");
	legacy_ask(w, "POST", "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}");
	assert_non_null(strstr(wire_body(w), "\"dev.husk/download_url\":\"http://h/link/e1\""));
}

/* Messages of the engine can name its files. */
static void failures_of_the_host_are_neutral(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	setenv("FAKE_NO_ENGINE", "1", 1);
	legacy_ask(
		w, "POST", "",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"create_session\",\"arguments\":{}}}");
	unsetenv("FAKE_NO_ENGINE");
	assert_non_null(strstr(wire_body(w), "The container engine of this server failed or does not answer."));
	assert_non_null(strstr(wire_body(w), "`husk doctor` on the server"));
	assert_null(strstr(wire_body(w), "setup-docker"));
	assert_null(strstr(wire_body(w), "`husk` is /"));
}

static void a_tool_needs_its_scope(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	assert_int_equal(legacy_ask(w, "POST", "X-Scopes: run\r\n", EXPORT), 200);
	assert_non_null(strstr(wire_body(w), "lacks the scope files:read, which export_files needs"));
	assert_int_equal(fake.done, 0);
	assert_int_equal(legacy_ask(w, "POST", "", EXPORT), 200);
	assert_null(strstr(wire_body(w), "lacks the scope"));
}

/* It has lines about other tenants. */
static void the_log_is_only_for_administrators(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	int fd = legacy_start(w, "GET", "", NULL);
	assert_int_equal(
		legacy_ask(
			w, "POST", "",
			"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}}"),
		200);
	assert_int_equal(legacy_ask(w, "POST", "", EXPORT), 200);
	buf_reset(&w->got);
	wire_read(w, fd, "list_changed");
	assert_null(strstr(buf_str(&w->got), "notifications/message"));
	closep(&fd);
}

static void a_reader_that_stops_is_cut_and_can_resume(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	int fd = legacy_start(w, "GET", "X-Small: 1\r\n", NULL);
	buf_reset(&w->got);
	wire_read(w, fd, "retry: ");
	for (int i = 0; i < 300; i++)
		legacy_ask(w, "POST", "", EXPORT);
	assert_true(http_rig_ended(&w->http, fd));
	closep(&fd);
	/* Only the newest events are kept. */
	fd = legacy_start(w, "GET", "Last-Event-ID: 0-1\r\n", NULL);
	buf_reset(&w->got);
	wire_read(w, fd, "id: 0-300\nevent: message");
	assert_null(strstr(buf_str(&w->got), "id: 0-44\n"));
	assert_non_null(strstr(buf_str(&w->got), "id: 0-45\n"));
	closep(&fd);
}

static void kept_answers_are_limited(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, NEW, "", "");
	for (int i = 0; i < 4; i++) {
		AUTO(freep) char *last = break_off(w, "chatter 600");
		wait_done(w, (unsigned)i + 1);
	}
	assert_in_range(mcp_http_kept(w->mcp), 1, 9u << 20);
}

/* --- batches ---------------------------------------------------------------------------------------------- */

static void a_batch_is_answered_with_a_list(void **state)
{
	struct wire *w = *state;
	legacy_begin(w, "2025-03-26", "", "");
	assert_int_equal(legacy_ask(w, "POST", "",
				    "[" PING "," INITIALIZED ",{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"no\"}]"),
			 200);
	json_auto_t *m = wire_json(w);
	assert_int_equal(json_array_size(m), 2);
	assert_int_equal(legacy_ask(w, "POST", "", "[" INITIALIZED "," INITIALIZED "]"), 202);
	/* With progress the list is the last event. */
	buf_reset(&w->got);
	int fd = legacy_start(
		w, "POST", "",
		"[" PING
		",{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_code\",\"arguments\":"
		"{\"session_id\":\"s\",\"code\":\"chatter 900\"},\"_meta\":{\"progressToken\":1}}}]");
	const char *text = wire_read(w, fd, NULL);
	assert_non_null(strstr(text, "notifications/progress"));
	assert_non_null(strstr(text, "data: [{"));
	closep(&fd);
	legacy_begin(w, "2025-06-18", "", "");
	assert_int_equal(legacy_ask(w, "POST", "", "[" PING "]"), 400);
	assert_int_equal(wire_code(w), -32600);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, wire_up, wire_down)
	const struct CMUnitTest tests[] = {
		TEST(initialize_begins_a_session),
		TEST(a_failed_initialize_begins_nothing),
		TEST(a_session_is_required_and_belongs_to_its_key),
		TEST(a_delete_ends_the_session),
		cmocka_unit_test_setup_teardown(an_idle_session_ends, idle_for_a_minute, wire_down),
		cmocka_unit_test_setup_teardown(the_number_of_sessions_is_limited, few_sessions, wire_down),
		TEST(a_stream_begins_with_an_empty_event_in_the_newest_revision),
		TEST(a_broken_stream_is_resumed),
		TEST(a_running_stream_is_resumed),
		TEST(a_cancelled_call_ends_its_stream_without_an_answer),
		TEST(messages_without_a_request_go_to_the_get_stream),
		TEST(sessions_of_a_conversation_hear_of_each_others_exports),
		TEST(the_user_is_asked_on_the_stream_of_the_call),
		TEST(paths_of_the_host_are_refused),
		TEST(exports_have_links),
		TEST(failures_of_the_host_are_neutral),
		TEST(a_tool_needs_its_scope),
		TEST(the_log_is_only_for_administrators),
		cmocka_unit_test_setup_teardown(a_reader_that_stops_is_cut_and_can_resume, wire_up_impatient,
						wire_down),
		TEST(kept_answers_are_limited),
		TEST(a_batch_is_answered_with_a_list),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
