/* mcp/http, 2026-07-28: headers, statuses and codes, streams of events, cancellation by disconnect. */
#include "tests/unit/mcp-http-rig.h"

/* --- answers ---------------------------------------------------------------------------------------------- */

static void a_request_is_answered_with_one_json_object(void **state)
{
	struct wire *w = *state;
	assert_int_equal(modern_ask(w, "server/discover", NULL, ""), 200);
	json_auto_t *m = wire_json(w);
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(json_object_get(m, "result"), "supportedVersions"), 0)),
			    MODERN);
	assert_non_null(strcasestr(buf_str(&w->got), "\r\ncontent-type: application/json\r\n"));
	assert_null(strcasestr(buf_str(&w->got), "mcp-session-id"));
}

#define BODY(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params META "}}"
#define LIST BODY("tools/list", "")
#define CALL BODY("tools/call", "\"name\":\"session_info\",\"arguments\":{},")
#define READ(uri) BODY("resources/read", "\"uri\":\"" uri "\",")
#define OF(version)                                                                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"    \
	"protocolVersion\":\"" version "\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}"

static const struct {
	const char *headers, *body;
	int status, code;
} cases[] = {
	/* The version. */
	{ BOTH VERSION "Mcp-Method: tools/list\r\n", LIST, 200, 0 },
	{ BOTH "mcp-protocol-version:  " MODERN "  \r\nMCP-METHOD: tools/list\r\n", LIST, 200, 0 },
	{ BOTH "Mcp-Method: tools/list\r\n", LIST, 400, -32020 },
	{ BOTH "MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list\r\n", LIST, 400, -32020 },
	{ BOTH VERSION VERSION "Mcp-Method: tools/list\r\n", LIST, 400, -32020 },
	{ BOTH "MCP-Protocol-Version: 1900-01-01\r\nMcp-Method: tools/list\r\n", OF("1900-01-01"), 400, -32022 },
	{ BOTH "MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list\r\n", OF("2025-11-25"), 400, -32022 },
	{ BOTH VERSION "Mcp-Method: tools/list\r\n", OF("1900-01-01"), 400, -32020 },
	/* The method. */
	{ BOTH VERSION, LIST, 400, -32020 },
	{ BOTH VERSION "Mcp-Method: tools/call\r\n", LIST, 400, -32020 },
	{ BOTH VERSION "Mcp-Method: Tools/List\r\n", LIST, 400, -32020 },
	{ BOTH VERSION "Mcp-Method: tools/list\r\nMcp-Method: tools/list\r\n", LIST, 400, -32020 },
	/* The name. */
	{ BOTH VERSION "Mcp-Method: tools/call\r\nMcp-Name:  session_info \r\n", CALL, 200, 0 },
	{ BOTH VERSION "Mcp-Method: tools/call\r\n", CALL, 400, -32020 },
	{ BOTH VERSION "Mcp-Method: tools/call\r\nMcp-Name: execute_code\r\n", CALL, 400, -32020 },
	{ BOTH VERSION "Mcp-Method: tools/call\r\nMcp-Name: =?base64?c2Vzc2lvbl9pbmZv?=\r\n", CALL, 200, 0 },
	{ BOTH VERSION "Mcp-Method: tools/call\r\nMcp-Name: =?base64?c2Vzc2lvbl9pbmZv!?=\r\n", CALL, 400, -32020 },
	{ BOTH VERSION "Mcp-Method: tools/call\r\nMcp-Name: =?BASE64?c2Vzc2lvbl9pbmZv?=\r\n", CALL, 400, -32020 },
	{ BOTH VERSION "Mcp-Method: resources/read\r\nMcp-Name: husk://exports/\r\n", READ("husk://exports/"), 200,
	  -32602 },
	{ BOTH VERSION "Mcp-Method: resources/read\r\nMcp-Name: husk://exports/x\r\n", READ("husk://exports/"), 400,
	  -32020 },
	{ BOTH VERSION "Mcp-Method: resources/read\r\nMcp-Name: =?base64?w6Q=?=\r\n", READ("\xc3\xa4"), 200, -32602 },
	{ BOTH VERSION "Mcp-Method: resources/read\r\nMcp-Name: \xc3\xa4\r\n", READ("\xc3\xa4"), 400, -32020 },
	{ BOTH VERSION "Mcp-Method: prompts/get\r\nMcp-Name: a\r\n", BODY("prompts/get", "\"name\":\"b\","), 400,
	  -32020 },
	{ BOTH VERSION "Mcp-Method: tasks/get\r\nMcp-Name: b\r\n", BODY("tasks/get", "\"taskId\":\"a\","), 400,
	  -32020 },
	/* A name that the body lacks is a matter of the method. */
	{ BOTH VERSION "Mcp-Method: tools/call\r\n", BODY("tools/call", ""), 200, -32602 },
	/* The body's _meta. */
	{ BOTH VERSION "Mcp-Method: tools/list\r\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", 400,
	  -32602 },
	{ BOTH VERSION "Mcp-Method: tools/list\r\n",
	  "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/"
	  "protocolVersion\":\"2026-07-28\"}}}",
	  400, -32602 },
	/* Methods and capabilities. */
	{ BOTH VERSION "Mcp-Method: no/such\r\n", BODY("no/such", ""), 404, -32601 },
	{ BOTH VERSION "Mcp-Method: ping\r\n", BODY("ping", ""), 404, -32601 },
	{ BOTH VERSION "Mcp-Method: initialize\r\n", BODY("initialize", ""), 404, -32601 },
	{ BOTH VERSION "Mcp-Method: tasks/get\r\nMcp-Name: a\r\n", BODY("tasks/get", "\"taskId\":\"a\","), 400,
	  -32021 },
	{ BOTH VERSION "Mcp-Method: tools/call\r\nMcp-Name: x\r\n", BODY("tools/call", "\"name\":\"x\","), 200,
	  -32602 },
	/* Everything that is not one request or notification. */
	{ BOTH VERSION, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 400, -32600 },
	{ BOTH VERSION, "[" LIST "]", 400, -32600 },
	{ BOTH VERSION, "{", 400, -32700 },
	{ BOTH VERSION, "7", 400, -32600 },
	{ BOTH VERSION, "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", 400, -32600 },
	/* Types. */
	{ BOTH VERSION "Content-Type: text/plain\r\n", LIST, 415, -32600 },
	{ BOTH VERSION "Content-Type: application/jsonp\r\n", LIST, 415, -32600 },
	{ BOTH VERSION "Content-Type: Application/JSON; charset=utf-8\r\nMcp-Method: tools/list\r\n", LIST, 200, 0 },
	{ "Accept: text/html\r\n" VERSION, LIST, 406, -32600 },
	{ VERSION "Mcp-Method: tools/list\r\n", LIST, 200, 0 },
	{ "Accept: */*\r\n" VERSION "Mcp-Method: tools/list\r\n", LIST, 200, 0 },
	{ "Accept: application/json\r\n" VERSION "Mcp-Method: subscriptions/listen\r\n",
	  BODY("subscriptions/listen", "\"notifications\":{},"), 406, -32600 },
};

static void each_mistake_has_its_status_and_code(void **state)
{
	struct wire *w = *state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int status = wire_ask(w, "POST", cases[i].headers, cases[i].body);
		int code = wire_code(w);
		if (status != cases[i].status || code != cases[i].code)
			fail_msg("case %zu: %d %d for\n%s%s", i, status, code, cases[i].headers, cases[i].body);
	}
}

static void an_error_has_the_id_of_its_request(void **state)
{
	struct wire *w = *state;
	assert_int_equal(wire_ask(w, "POST", BOTH VERSION, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"x\"}"), 400);
	json_auto_t *m = wire_json(w);
	assert_string_equal(json_string_value(json_object_get(m, "id")), "a");
}

static void a_notification_is_accepted_without_a_body(void **state)
{
	struct wire *w = *state;
	assert_int_equal(
		wire_ask(w, "POST", BOTH VERSION,
			 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}"),
		202);
	assert_string_equal(wire_body(w), "");
}

static void other_methods_of_http_are_refused(void **state)
{
	struct wire *w = *state;
	static const char *const methods[] = { "GET", "DELETE", "PUT", "OPTIONS" };
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		assert_int_equal(wire_ask(w, methods[i], VERSION, NULL), 405);
		assert_non_null(strcasestr(buf_str(&w->got), "\r\nallow: POST\r\n"));
	}
	assert_int_equal(wire_ask(w, "GET", "", NULL), 405);
	assert_int_equal(wire_ask(w, "GET", VERSION "Mcp-Session-Id: x\r\n", NULL), 405);
}

static void a_large_body_is_refused(void **state)
{
	struct wire *w = *state;
	AUTO(freep) char *big = xcalloc(1, (4u << 20) + 2);
	memset(big, ' ', (4u << 20) + 1);
	assert_int_equal(wire_ask(w, "POST", BOTH VERSION, big), 413);
}

/* --- events ----------------------------------------------------------------------------------------------- */

static void progress_makes_the_answer_a_stream(void **state)
{
	struct wire *w = *state;
	w->fd = modern_run(w, "chatter 900", true);
	const char *text = wire_read(w, w->fd, NULL);
	assert_non_null(strcasestr(text, "HTTP/1.1 200 "));
	assert_non_null(strcasestr(text, "\r\ncontent-type: text/event-stream\r\n"));
	assert_non_null(strcasestr(text, "\r\nx-accel-buffering: no\r\n"));
	const char *progress = strstr(text, "notifications/progress"), *result = strstr(text, "\"result\":");
	assert_true(progress && result && progress < result);
	assert_null(strstr(text, "\nid:"));
	assert_null(strstr(text, "retry:"));
}

static void a_client_that_reads_no_events_gets_json(void **state)
{
	struct wire *w = *state;
	AUTO(freep) char *body =
		modern_body("1", "tools/call",
			    "\"name\":\"execute_code\",\"arguments\":{\"session_id\":\"s\",\"code\":\"chatter 300\"},");
	assert_int_equal(wire_ask(w, "POST",
				  "Accept: application/json\r\n" VERSION
				  "Mcp-Method: tools/call\r\nMcp-Name: execute_code\r\n",
				  body),
			 200);
	assert_int_equal(wire_code(w), 0);
}

static void a_client_that_reads_only_events_gets_events(void **state)
{
	struct wire *w = *state;
	assert_int_equal(
		wire_ask(w, "POST", "Accept: text/event-stream\r\n" VERSION "Mcp-Method: tools/list\r\n", LIST), 200);
	assert_non_null(strstr(wire_body(w), "event: message\ndata: {"));
}

static void a_silent_call_gets_signs_of_life(void **state)
{
	struct wire *w = *state;
	w->fd = modern_run(w, "wait", false);
	loop_skip(w->http.loop, 14000);
	http_rig_turn(&w->http);
	char none[16];
	assert_int_equal(read(w->fd, none, sizeof(none)), -1);
	loop_skip(w->http.loop, 6000);
	wire_read(w, w->fd, ": alive\n\n");
	assert_non_null(strcasestr(buf_str(&w->got), "content-type: text/event-stream"));
	buf_reset(&w->got);
	loop_skip(w->http.loop, 21000);
	wire_read(w, w->fd, ": alive\n\n");
	assert_int_equal(fake.cancelled, 0);
}

/* Their tick takes longer than a millisecond, so the clock moves on meanwhile. */
static void many_silent_calls_get_one_sign_each(void **state)
{
	struct wire *w = *state;
	int fds[200];
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = modern_run(w, "wait", false);
	loop_skip(w->http.loop, 21000);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		buf_reset(&w->got);
		const char *first = strstr(wire_read(w, fds[i], ": alive\n\n"), ": alive");
		assert_null(strstr(first + 1, ": alive"));
		closep(&fds[i]);
	}
}

static void a_disconnect_cancels_the_call(void **state)
{
	struct wire *w = *state;
	for (unsigned i = 0; i < 2; i++) {
		w->fd = modern_run(w, i ? "chatter 60000" : "wait", true);
		if (i)
			wire_read(w, w->fd, "notifications/progress");
		assert_int_equal(fake.cancelled, i);
		closep(&w->fd);
		for (int turns = 0; fake.cancelled == i && turns < 1000; turns++)
			http_rig_turn(&w->http);
		assert_int_equal(fake.cancelled, i + 1);
	}
}

static void two_clients_may_use_the_same_id(void **state)
{
	struct wire *w = *state;
	int one = modern_run(w, "after 50", false), two = modern_run(w, "after 50", false);
	wire_read(w, one, "\"result\":");
	buf_reset(&w->got);
	wire_read(w, two, "\"result\":");
	closep(&one);
	closep(&two);
}

#define LISTEN "subscriptions/listen"
#define WANTED "\"notifications\":{\"resourcesListChanged\":true},"

static int listen_for_exports(struct wire *w, const char *id)
{
	AUTO(freep) char *body = modern_body(id, LISTEN, WANTED);
	return wire_begin(w, "POST", BOTH VERSION "Mcp-Method: " LISTEN "\r\n", body);
}

static int export_one(struct wire *w)
{
	return modern_ask(
		w, "tools/call", "export_files",
		"\"name\":\"export_files\",\"arguments\":{\"session_id\":\"s\",\"files\":[{\"source\":\"a\"}]},");
}

static void a_subscription_hears_of_other_requests(void **state)
{
	struct wire *w = *state;
	int fd = listen_for_exports(w, "\"L\"");
	wire_read(w, fd, "notifications/subscriptions/acknowledged");
	assert_int_equal(export_one(w), 200);
	buf_reset(&w->got);
	wire_read(w, fd, "notifications/resources/list_changed");
	assert_non_null(strstr(buf_str(&w->got), "subscriptionId\":\"L\""));
	closep(&fd);
}

static void a_subscription_that_is_not_read_is_cancelled(void **state)
{
	struct wire *w = *state;
	AUTO(freep) char *body = modern_body("1", LISTEN, WANTED);
	int fd = wire_begin(w, "POST", BOTH VERSION "X-Small: 1\r\nMcp-Method: " LISTEN "\r\n", body);
	wire_read(w, fd, "acknowledged");
	for (int i = 0; i < 300; i++)
		export_one(w);
	assert_true(http_rig_ended(&w->http, fd));
	closep(&fd);
}

static void a_stop_ends_subscriptions_with_a_result(void **state)
{
	struct wire *w = *state;
	int fd = listen_for_exports(w, "1");
	wire_read(w, fd, "notifications/subscriptions/acknowledged");
	mcp_http_stop(w->mcp);
	wire_read(w, fd, "\"result\":");
	wire_read(w, fd, "\r\n0\r\n\r\n");
	closep(&fd);
	assert_int_equal(modern_ask(w, "tools/list", NULL, ""), 503);
}

static void a_forgotten_conversation_ends_its_requests(void **state)
{
	struct wire *w = *state;
	int fd = modern_run(w, "wait", false), listening = listen_for_exports(w, "1");
	wire_read(w, listening, "acknowledged");
	mcp_http_forget(w->mcp, w->other);
	assert_int_equal(fake.cancelled, 0);
	mcp_http_forget(w->mcp, w->conversation);
	assert_int_equal(fake.cancelled, 1);
	assert_true(http_rig_ended(&w->http, fd));
	assert_true(http_rig_ended(&w->http, listening));
	closep(&fd);
	closep(&listening);
	assert_int_equal(modern_ask(w, "tools/list", NULL, ""), 200);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, wire_up, wire_down)
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_answered_with_one_json_object),
		TEST(each_mistake_has_its_status_and_code),
		TEST(an_error_has_the_id_of_its_request),
		TEST(a_notification_is_accepted_without_a_body),
		TEST(other_methods_of_http_are_refused),
		TEST(a_large_body_is_refused),
		TEST(progress_makes_the_answer_a_stream),
		TEST(a_client_that_reads_no_events_gets_json),
		TEST(a_client_that_reads_only_events_gets_events),
		TEST(a_silent_call_gets_signs_of_life),
		TEST(many_silent_calls_get_one_sign_each),
		TEST(a_disconnect_cancels_the_call),
		TEST(two_clients_may_use_the_same_id),
		TEST(a_subscription_hears_of_other_requests),
		cmocka_unit_test_setup_teardown(a_subscription_that_is_not_read_is_cancelled, wire_up_impatient,
						wire_down),
		TEST(a_stop_ends_subscriptions_with_a_result),
		TEST(a_forgotten_conversation_ends_its_requests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
