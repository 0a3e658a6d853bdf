/* mcp/server over pipes, with a manager that needs no engine: both eras, bad input, batches, cancels, the end. */
#include "tests/unit/unit.h"

#include "base/log.h"
#include "mcp/tools.h"
#include "tests/unit/server-rig.h"

/* --- tests ----------------------------------------------------------------------------------------------- */

static size_t utf8_length(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void legacy_and_modern_requests_mix(void **state)
{
	struct rig *r = *state;
	send(r, "{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"method\":\"server/discover\",\"params\":{" META "}}");
	json_auto_t *discover = receive(r, 1000);
	assert_string_equal(text_at(discover, "result|supportedVersions|0"), "2026-07-28");
	assert_string_equal(text_at(discover, "result|resultType"), "complete");
	assert_string_equal(text_at(discover, "result|cacheScope"), "public");
	assert_true(json_integer_value(at(discover, "result|ttlMs")) > 0);
	assert_string_equal(text_at(discover, "result|_meta|io.modelcontextprotocol/serverInfo|name"), "husk");
	assert_int_equal(json_object_size(at(discover, "result|capabilities|tools")), 0);
	assert_true(strlen(text_at(discover, "result|instructions")) <= TOOL_TEXT_MAX);

	send(r,
	     "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\"}}");
	json_auto_t *legacy = receive(r, 1000);
	assert_string_equal(text_at(legacy, "result|protocolVersion"), "2025-06-18");
	assert_null(at(legacy, "result|resultType"));
	assert_null(at(legacy, "result|_meta"));
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "1 ok");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{" META "}}", "2 -32601");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{" META "}}", "3 ok");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"initialize\",\"params\":{" META "}}", "4 -32601");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"server/discover\"}", "5 -32602");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}}",
	       "7 ok");
	expect(r,
	       "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"," META
	       "}}",
	       "7 -32601");
	quiet(r);
}

static void an_unsupported_version_is_rejected_every_time(void **state)
{
	struct rig *r = *state;
	static const char *const methods[] = { "tools/list", "server/discover", "tools/call", "no/such",
					       "ping",	     "initialize" };
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
			AUTO(freep) char *line = xasprintf(
				"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\","
				"\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
				methods[i]);
			expect(r, line, "1 -32022");
		}
		expect(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{" META "}}", "2 ok");
	}
}

static void tools_are_listed_as_each_revision_defines_them(void **state)
{
	struct rig *r = *state;
	static const struct {
		const char *version;
		bool annotations, title;
	} cases[] = { { "2025-11-25", true, true },
		      { "2025-06-18", true, true },
		      { "2025-03-26", true, false },
		      { "2024-11-05", false, false } };
	static const char *const names[] = { "create_session", "execute_code", "execute_terminal", "import_files",
					     "export_files",   "stop_session", "session_info",	   "checkpoint" };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		initialize(r, cases[i].version);
		send(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
		json_auto_t *m = receive(r, 1000);
		assert_string_equal(text_at(m, "result|tools|0|inputSchema|properties|language|enum|0"), "python");
		const json_t *first = at(m, "result|tools|0"), *hints = json_object_get(first, "annotations");
		assert_int_equal(json_object_get(first, "title") != NULL, cases[i].title);
		assert_int_equal(json_object_get(hints, "title") != NULL, cases[i].annotations && !cases[i].title);
		assert_int_equal(json_is_false(at(hints, "destructiveHint")), cases[i].annotations);
		assert_null(json_object_get(hints, "idempotentHint"));
		assert_null(at(m, "result|ttlMs"));
		assert_non_null(strstr(text_at(m, "result|tools|3|description"), "allows (/srv/husk)"));
		assert_int_equal(json_array_size(at(m, "result|tools")), ARRAY_LEN(names));
		for (size_t t = 0; tools_nth(t); t++) {
			const json_t *tool = json_array_get(at(m, "result|tools"), t);
			assert_string_equal(text_at(tool, "name"), names[t]);
			assert_in_range(strlen(text_at(tool, "description")), 100, TOOL_TEXT_MAX);
		}
	}
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}", "2 -32602");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"cursor\":5}}", "2 -32602");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{\"cursor\":null}}", "2 ok");
}

/* Every conversation contains these texts, whether it uses a tool or not. */
static void texts_for_models_stay_short(void **state)
{
	struct rig *r = *state;
	send(r,
	     "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}");
	json_auto_t *hello = receive(r, 1000);
	const char *instructions = text_at(hello, "result|instructions");
	send(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	json_auto_t *m = receive(r, 1000);
	AUTO(freep) char *tools = json_dumps(at(m, "result"), JSON_COMPACT);
	assert_in_range(utf8_length(tools) + utf8_length(instructions), 10000, TOOLS_TEXT_MAX);

	/* The default of `timeout` is stated once, where the text also says when it does not apply. */
	assert_non_null(strstr(instructions, "{run: 7, wait: 60} continues waiting"));
	assert_null(strstr(instructions, "30"));
	assert_null(strstr(instructions, "says how the run ended"));
	for (size_t t = 1; t <= 2; t++) {
		const json_t *tool = json_array_get(at(m, "result|tools"), t);
		const json_t *timeout = at(tool, "inputSchema|properties|timeout");
		assert_null(json_object_get(timeout, "default"));
		assert_non_null(strstr(text_at(timeout, "description"), "default 30, at most 300; with `wait` more"));
		assert_null(strstr(text_at(tool, "description"), "default 30"));
	}
}

static void files_succeed_or_fail_one_by_one(void **state)
{
	struct rig *r = *state;
	call_tool(r, "1", "export_files",
		  "{\"session_id\":\"s1\",\"files\":[{\"source\":\"a\"},{\"source\":\"bad\"}]}");
	json_auto_t *exported = receive(r, 1000);
	assert_false(json_is_true(at(exported, "result|isError")));
	assert_true(json_is_false(at(exported, "result|structuredContent|success")));
	assert_true(json_is_true(at(exported, "result|structuredContent|files|0|success")));
	assert_string_equal(text_at(exported, "result|structuredContent|files|0|uri"), "husk://exports/e1/e.txt");
	for (const char *none = "error\0download_url\0"; *none; none += strlen(none) + 1)
		assert_null(json_object_get(at(exported, "result|structuredContent|files|0"), none));
	assert_null(at(exported, "result|structuredContent|error"));
	assert_string_equal(text_at(exported, "result|structuredContent|files|1|error"), "bad \xef\xbf\xbd");
	assert_string_equal(text_at(exported, "result|content|1|type"), "resource_link");

	call_tool(
		r, "2", "import_files",
		"{\"session_id\":\"s1\",\"files\":[{\"file_content\":\"x\",\"destination\":\"d\"},{\"source\":\"h\"}]}");
	json_auto_t *imported = receive(r, 1000);
	assert_true(json_is_true(at(imported, "result|structuredContent|success")));

	call_tool(r, "4", "import_files", "{\"session_id\":\"s1\",\"files\":[{\"source\":1},{\"y\":2},3]}");
	json_auto_t *bad = receive(r, 1000);
	assert_true(json_is_true(at(bad, "result|isError")));
	assert_int_equal(json_array_size(at(bad, "result|structuredContent|details")), 3);
	assert_string_equal(text_at(bad, "result|structuredContent|details|0|loc|0"), "files");
	assert_int_equal(json_integer_value(at(bad, "result|structuredContent|details|1|loc|1")), 1);
}

static void requests_wait_for_sessions_of_the_last_server(void **state)
{
	struct rig *r = *state;
	fake.adopting = true;
	call_tool(r, "1", "session_info", "{}");
	json_auto_t *listed = receive(r, 1000);
	assert_string_equal(text_at(listed, "result|structuredContent|sessions|0|session_id"), "left");
	fake.adopting = true;
	call_tool(r, "2", "execute_code", "{\"session_id\":\"gone\",\"code\":\"1\"}");
	json_auto_t *wrong = receive(r, 1000);
	assert_non_null(strstr(text_at(wrong, "result|content|0|text"), "Active sessions: left"));
	fake.adopting = fake.adopting_long = true;
	call_tool(r, "3", "session_info", "{}");
	json_auto_t *unsure = receive(r, 1000);
	assert_non_null(strstr(text_at(unsure, "result|structuredContent|note"), "still being taken over"));
	call_tool(r, "4", "stop_session", "{\"session_id\":\"gone\"}");
	json_auto_t *unknown = receive(r, 1000);
	assert_non_null(strstr(text_at(unknown, "result|content|0|text"), "Call again in a few seconds."));
}

static void resources_are_listed_and_read_in_every_revision(void **state)
{
	struct rig *r = *state;
	send(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{" META "}}");
	json_auto_t *modern = receive(r, 1000);
	assert_string_equal(text_at(modern, "result|resources|0|uri"), "husk://exports/e1/e.txt");
	assert_string_equal(text_at(modern, "result|cacheScope"), "private");
	send(r,
	     "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/read\",\"params\":{\"uri\":\"husk://exports/e1\"," META
	     "}}");
	json_auto_t *read = receive(r, 1000);
	assert_string_equal(text_at(read, "result|contents|0|text"), "hello");
	expect(r,
	       "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/read\",\"params\":{\"uri\":\"husk://exports/x\"," META
	       "}}",
	       "3 -32602");
	expect(r,
	       "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///etc/passwd\"," META
	       "}}",
	       "4 -32602");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"resources/read\",\"params\":{" META "}}", "5 -32602");
	initialize(r, "2025-06-18");
	send(r, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"resources/list\"}");
	json_auto_t *legacy = receive(r, 1000);
	assert_string_equal(text_at(legacy, "result|resources|0|name"), "e.txt");
	assert_null(at(legacy, "result|ttlMs"));
	expect(r,
	       "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{\"uri\":\"husk://exports/x\"}}",
	       "7 -32002");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"resources/templates/list\"}", "8 ok");
}

static void a_session_from_start_to_stop(void **state)
{
	struct rig *r = *state;
	call_tool(r, "1", "create_session", "{\"language\":\"Py\",\"dependencies\":{}}");
	json_auto_t *created = receive(r, 1000);
	assert_string_equal(text_at(created, "result|structuredContent|session_id"), "s1");
	assert_string_equal(text_at(created, "result|structuredContent|status"), "running");
	json_auto_t *same = json_loads(text_at(created, "result|content|0|text"), 0, NULL);
	assert_true(json_equal(same, at(created, "result|structuredContent")));
	call_tool(r, "2", "execute_code", "{\"session_id\":\"s1\",\"code\":\"hello\",\"timeout\":\"5\"}");
	json_auto_t *ran = receive(r, 1000);
	assert_string_equal(text_at(ran, "result|content|0|text"), "hello");
	assert_string_equal(text_at(ran, "result|_meta|dev.husk/result|stdout"), "hello\n");
	assert_null(at(ran, "result|structuredContent"));
	call_tool(r, "3", "execute_terminal", "{\"session_id\":\"s1\",\"command\":\"ls\",\"timeout\":null}");
	json_auto_t *listed = receive(r, 1000);
	assert_string_equal(text_at(listed, "result|content|0|text"), "ls");
	call_tool(r, "4", "execute_code", "{\"session_id\":\"s1\",\"code\":\"raise\"}");
	json_auto_t *raised = receive(r, 1000);
	assert_true(json_is_false(at(raised, "result|isError")));
	assert_string_equal(text_at(raised, "result|_meta|dev.husk/result|ending"), "error");
	call_tool(r, "5", "stop_session", "{\"session_id\":\"s1\"}");
	json_auto_t *stopped = receive(r, 1000);
	assert_true(json_is_true(at(stopped, "result|structuredContent|success")));
	call_tool(r, "6", "session_info", "{\"session_id\":\"mute\"}");
	json_auto_t *mute = receive(r, 1000);
	assert_non_null(strstr(text_at(mute, "result|structuredContent|note"), "did not answer in time"));
}

static void old_revisions_get_no_structured_content(void **state)
{
	struct rig *r = *state;
	initialize(r, "2025-03-26");
	call_tool(r, "1", "create_session", "{}");
	json_auto_t *created = receive(r, 1000);
	assert_null(at(created, "result|structuredContent"));
	assert_non_null(strstr(text_at(created, "result|content|0|text"), "session_id"));
}

static void expect_tool_error(struct rig *r, const char *tool, const char *args, const char *start)
{
	call_tool(r, "1", tool, args);
	json_auto_t *m = receive(r, 1000);
	const char *text = text_at(m, "result|content|0|text");
	assert_true(json_is_true(at(m, "result|isError")));
	if (strncmp(text, start, strlen(start)) != 0)
		fail_msg("'%s' does not start with '%s'", text, start);
}

static void bad_arguments_are_results(void **state)
{
	struct rig *r = *state;
	expect_tool_error(r, "execute_code", "{\"code\":\"1\"}", "INVALID_INPUT: session_id is required");
	expect_tool_error(r, "execute_code", "{\"session_id\":\"s\",\"code\":\"\"}", "INVALID_INPUT: code must be");
	expect_tool_error(r, "execute_code", "{\"session_id\":\"s\",\"code\":\"a\\u0000\"}",
			  "INVALID_INPUT: code must not");
	expect_tool_error(r, "execute_code", "{\"session_id\":\"s\",\"code\":\"1\",\"timeout\":301}",
			  "INVALID_INPUT: timeout");
	expect_tool_error(r, "execute_code", "{\"session_id\":\"s\",\"cmd\":\"1\",\"code\":\"1\"}",
			  "INVALID_INPUT: unknown");
	expect_tool_error(r, "execute_code", "{\"session_id\":\"gone\",\"code\":\"1\"}",
			  "ValueError: Session 'gone' not found");
	expect_tool_error(r, "execute_terminal", "{\"session_id\":\"dead\",\"command\":\"1\"}",
			  "CONTAINER_DIED: killed");
	expect_tool_error(r, "session_info", "{\"session_id\":\"gone\"}", "ValueError: Session 'gone' not found");
	expect_tool_error(r, "session_info", "{\"keep_alive\":true}", "INVALID_INPUT: keep_alive needs session_id");
	expect_tool_error(r, "stop_session", "{\"session_id\":\"gone\"}", "ValueError: Session 'gone' not found");
	expect_tool_error(r, "create_session", "{\"language\":\"cobol\"}",
			  "INVALID_INPUT: language must be one of \"python\"");
	expect_tool_error(r, "create_session", "{\"dependencies\":{\"pandas\":1}}",
			  "INVALID_INPUT: dependencies must be an object of strings");
	expect_tool_error(r, "create_session", "{\"dependencies\":[]}", "INVALID_INPUT: dependencies must be");
	setenv("FAKE_NO_ENGINE", "1", 1);
	expect_tool_error(r, "create_session", "{}", "RuntimeError: the container engine does not answer\nHint: ");
	unsetenv("FAKE_NO_ENGINE");
}

static void bad_params_are_protocol_errors(void **state)
{
	struct rig *r = *state;
#define CALL(params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"" params "}"
	expect(r, CALL(""), "1 -32602");
	expect(r, CALL(",\"params\":{}"), "1 -32602");
	expect(r, CALL(",\"params\":{\"name\":5}"), "1 -32602");
	expect(r, CALL(",\"params\":{\"name\":\"nope\"}"), "1 -32602");
	expect(r, CALL(",\"params\":{\"name\":\"create_session\\u0000\"}"), "1 -32602");
	expect(r, CALL(",\"params\":{\"name\":\"create_session\",\"arguments\":[]}"), "1 -32602");
	expect(r, CALL(",\"params\":{\"name\":\"create_session\",\"arguments\":\"{}\"}"), "1 -32602");
	expect(r, CALL(",\"params\":{\"name\":\"create_session\",\"_meta\":{\"progressToken\":1.5}}"), "1 -32602");
	expect(r, CALL(",\"params\":{\"name\":\"create_session\",\"_meta\":5}"), "1 -32602");
	expect(r,
	       CALL(",\"params\":{\"name\":\"create_session\",\"arguments\":null,\"_meta\":{\"progressToken\":null}}"),
	       "1 ok");
	send(r, CALL(",\"params\":{\"name\":\"no\xc3\xa9\"}"));
	json_auto_t *m = receive(r, 1000);
	assert_string_equal(text_at(m, "error|message"), "Unknown tool: noé");
}

static void malformed_input(void **state)
{
	struct rig *r = *state;
	expect(r, "{", "- -32700");
	expect(r, "[]", "- -32600");
	expect(r, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "- -32600");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "- -32600");
	send(r, "");
	send(r, "   \r");
	send(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/what\"}");
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}");
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":[]}}");
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}");
	quiet(r);
	/* No answer in revisions whose schema requires an id in errors. */
	initialize(r, "2025-06-18");
	send(r, "{");
	quiet(r);
	expect(r, "{\"id\":3,\"method\":\"ping\"}", "3 -32600");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}", "4 ok");
}

static void an_endless_line_is_rejected(void **state)
{
	struct rig *r = *state;
	size_t n = 17u << 20;
	AUTO(freep) char *junk = xmalloc(n);
	memset(junk, 'x', n);
	send_bytes(r, junk, n);
	json_auto_t *m = receive(r, 1000);
	assert_int_equal(json_integer_value(at(m, "error|code")), -32600);
	send(r, "");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "1 ok");
	quiet(r);
}

static void other_requests_do_not_wait_for_a_cell(void **state)
{
	struct rig *r = *state;
	call_tool(r, "1", "execute_code", "{\"session_id\":\"s1\",\"code\":\"wait\"}");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}", "2 ok");
	/* The id is in use; "1" is another one. */
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "1 -32600");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"ping\"}", "\"1\" ok");
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"1\"}}");
	assert_int_equal(fake.cancelled, 0);
	send(r,
	     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,\"reason\":\"x\"}}");
	quiet(r);
	assert_int_equal(fake.cancelled, 1);
	/* The id is free again. */
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "1 ok");
}

static void requests_in_flight_are_bounded(void **state)
{
	struct rig *r = *state;
	for (int i = 0; i < 256; i++) {
		AUTO(freep) char *id = xasprintf("%d", i);
		call_tool(r, id, "execute_code", "{\"session_id\":\"s1\",\"code\":\"wait\"}");
	}
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":\"more\",\"method\":\"ping\"}", "\"more\" -32603");
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":\"more\",\"method\":\"ping\"}", "\"more\" ok");
}

static void batches_work_in_one_revision_only(void **state)
{
	struct rig *r = *state;
	initialize(r, "2025-03-26");
	send(r,
	     "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"method\":\"n\"},5,{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
	     "call\",\"params\":{\"name\":\"execute_code\",\"arguments\":{\"session_id\":\"s\",\"code\":\"after 20\"}}},"
	     "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\"}},{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/"
	     "call\",\"params\":{\"name\":\"execute_code\",\"arguments\":{\"session_id\":\"s\",\"code\":\"wait\"}}}]");
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4}}");
	json_auto_t *m = receive(r, 1000);
	assert_true(json_is_array(m));
	assert_int_equal(json_array_size(m), 3);
	assert_int_equal(json_integer_value(at(m, "0|id")), 1);
	assert_int_equal(json_integer_value(at(m, "1|error|code")), -32600);
	assert_int_equal(json_integer_value(at(m, "1|id")), 3);
	assert_int_equal(json_integer_value(at(m, "2|id")), 2);
	send(r, "[{\"jsonrpc\":\"2.0\",\"method\":\"n\"}]");
	quiet(r);
	initialize(r, "2025-11-25");
	expect(r, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "- -32600");
}

static void subscriptions_stay_open(void **state)
{
	struct rig *r = *state;
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{" META "}}",
	       "1 -32602");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{}}", "1 -32601");
	send(r,
	     "{\"jsonrpc\":\"2.0\",\"id\":\"listen:0\",\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"toolsListChanged\":true}," META
	     "}}");
	json_auto_t *ack = receive(r, 1000);
	assert_string_equal(text_at(ack, "method"), "notifications/subscriptions/acknowledged");
	assert_string_equal(text_at(ack, "params|_meta|io.modelcontextprotocol/subscriptionId"), "listen:0");
	assert_int_equal(json_object_size(at(ack, "params|notifications")), 0);
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"listen:0\"}}");
	quiet(r);
	for (int i = 0; i < 64; i++) {
		AUTO(freep) char *line = xasprintf(
			"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{}," META
			"}}",
			i);
		send(r, line);
		json_decref(receive(r, 1000));
	}
	expect(r,
	       "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{}," META
	       "}}",
	       "99 -32603");
	/* Subscriptions end with the server: each gets its result. */
	server_stop(r->server);
	json_auto_t *end = receive(r, 1000);
	assert_int_equal(json_integer_value(at(end, "id")), 0);
	assert_string_equal(text_at(end, "result|resultType"), "complete");
	assert_int_equal(json_integer_value(at(end, "result|_meta|io.modelcontextprotocol/subscriptionId")), 0);
}

static void progress_is_sent_during_a_run(void **state)
{
	struct rig *r = *state;
	send(r,
	     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_code\",\"arguments\":"
	     "{\"session_id\":\"s\",\"code\":\"chatter 900\"},\"_meta\":{\"progressToken\":\"tok\"}}}");
	json_auto_t *first = receive(r, 2000);
	assert_string_equal(text_at(first, "method"), "notifications/progress");
	assert_string_equal(text_at(first, "params|progressToken"), "tok");
	assert_string_equal(text_at(first, "params|message"), "tick\ntick\ntick");
	json_auto_t *second = receive(r, 2000);
	assert_int_equal(json_integer_value(at(second, "id")), 1);
	quiet(r);
}

static void log_requests(struct rig *r)
{
	initialize(r, "2025-06-18");
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"nonsense\"}", "2 -32601");
	call_tool(r, "\"three\"", "execute_code", "{\"session_id\":\"gone\",\"code\":\"1\"}");
	json_decref(receive(r, 1000));
	call_tool(r, "4", "execute_code", "{\"session_id\":\"a\",\"code\":\"wait\"}");
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4}}");
	quiet(r);
}

/* At debug level there is one line for each request, with its id, its outcome and its time. */
static void each_request_is_logged_in_one_line(void **state)
{
	static const char *const want[] = { "debug: request \"init\" initialize: ok in ",
					    "debug: request 2: refused with error -32601",
					    "debug: request \"three\" tools/call execute_code: tool error in ",
					    "debug: request 4 tools/call execute_code: cancelled in " };
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	char got[8192];
	assert_true(file && saved >= 0);
	dup2(fileno(file), STDERR_FILENO);
	log_set_level(LOG_DEBUG);
	log_requests(*state);
	log_set_level(LOG_WARNING);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	fclose(file);
	size_t n = 0;
	for (const char *at = got; (at = strstr(at, " request ")); at++)
		n++;
	assert_int_equal(n, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_non_null(strstr(got, want[i]));
}

static void the_end_of_input_ends_the_server(void **state)
{
	struct rig *r = *state;
	call_tool(r, "1", "execute_code", "{\"session_id\":\"s1\",\"code\":\"wait\"}");
	static const char last[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}";
	assert_int_equal(write(r->to, last, sizeof(last) - 1), sizeof(last) - 1);
	closep(&r->to);
	uint64_t start = loop_now_ms();
	json_auto_t *m = receive(r, 500);
	assert_int_equal(json_integer_value(at(m, "id")), 2);
	for (int i = 0; i < 100 && r->ended < 0; i++)
		turn(r, 10);
	assert_int_equal(r->ended, 0);
	assert_true(loop_now_ms() - start < 500);
}

static void a_closed_output_ends_the_server(void **state)
{
	struct rig *r = *state;
	closep(&r->from);
	send(r, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
	for (int i = 0; i < 100 && r->ended < 0; i++)
		turn(r, 10);
	assert_int_equal(r->ended, 0);
}

static void output_for_a_stalled_reader_is_bounded(void **state)
{
	struct rig *r = *state;
	unsigned sent = 0;
	fcntl(r->to, F_SETFL, O_NONBLOCK);
	for (int idle = 0; idle < 50;) {
		AUTO(freep) char *line = xasprintf(
			"{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_code\",\"arguments\":{\"session_id\":\"s\",\"code\":"
			"\"flood 200000\"}}}\n",
			sent);
		if (write(r->to, line, strlen(line)) == (ssize_t)strlen(line)) {
			sent++;
			idle = 0;
		} else {
			idle++;
		}
		turn(r, 0);
		assert_int_equal(r->ended, -1);
	}
	/* The number of started and answered calls is near the mark at which reading pauses, not near the number
	 * that was sent: 8 MiB hold about 400 answers of 20,000 characters, and 256 calls may be under way. */
	assert_true(fake.done < 700 && sent > fake.done);
	AUTO(freep) bool *seen = xcalloc(sent, sizeof(*seen));
	for (unsigned i = 0; i < sent; i++) {
		json_auto_t *m = receive(r, 2000);
		json_int_t id = json_integer_value(at(m, "id"));
		assert_true(json_is_integer(at(m, "id")) && id < (json_int_t)sent && !seen[id]);
		seen[id] = true;
	}
	quiet(r);
}

static void pictures_stay_within_the_line(void **state)
{
	struct rig *r = *state;
	call_tool(r, "1", "execute_code", "{\"session_id\":\"s1\",\"code\":\"plot 5 300000\"}");
	json_auto_t *m = receive(r, 2000);
	assert_int_equal(json_array_size(at(m, "result|content")), 4);
	assert_non_null(strstr(text_at(m, "result|content|0|text"), "2 pictures were left out"));
}

static void mutated_messages_do_no_harm(void **state)
{
	struct rig *r = *state;
	static const char base[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_code\",\"arguments\":{\"session_id\":\"s\",\"code\":\"1\",\"timeout\":5}," META
		"}}";
	uint32_t seed = 12345;
	for (int i = 0; i < 3000; i++) {
		char copy[sizeof(base)];
		memcpy(copy, base, sizeof(base));
		for (int k = 0; k < 1 + i % 4; k++) {
			seed = seed * 1664525 + 1013904223;
			copy[seed % (sizeof(base) - 1)] = (char)(seed >> 24);
		}
		send_bytes(r, copy, sizeof(base) - 1);
		send_bytes(r, "\n", 1);
		for (json_t *m; (m = receive(r, 0));)
			json_decref(m);
	}
	for (json_t *m; (m = receive(r, 50));)
		json_decref(m);
	expect(r, "{\"jsonrpc\":\"2.0\",\"id\":\"alive\",\"method\":\"ping\"}", "\"alive\" ok");
}

#define SERVER_TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(legacy_and_modern_requests_mix),
		SERVER_TEST(an_unsupported_version_is_rejected_every_time),
		SERVER_TEST(tools_are_listed_as_each_revision_defines_them),
		SERVER_TEST(texts_for_models_stay_short),
		SERVER_TEST(files_succeed_or_fail_one_by_one),
		SERVER_TEST(requests_wait_for_sessions_of_the_last_server),
		SERVER_TEST(resources_are_listed_and_read_in_every_revision),
		SERVER_TEST(a_session_from_start_to_stop),
		SERVER_TEST(old_revisions_get_no_structured_content),
		SERVER_TEST(bad_arguments_are_results),
		SERVER_TEST(bad_params_are_protocol_errors),
		SERVER_TEST(malformed_input),
		SERVER_TEST(an_endless_line_is_rejected),
		SERVER_TEST(other_requests_do_not_wait_for_a_cell),
		SERVER_TEST(requests_in_flight_are_bounded),
		SERVER_TEST(batches_work_in_one_revision_only),
		SERVER_TEST(subscriptions_stay_open),
		SERVER_TEST(progress_is_sent_during_a_run),
		SERVER_TEST(each_request_is_logged_in_one_line),
		SERVER_TEST(the_end_of_input_ends_the_server),
		SERVER_TEST(a_closed_output_ends_the_server),
		SERVER_TEST(output_for_a_stalled_reader_is_bounded),
		SERVER_TEST(pictures_stay_within_the_line),
		SERVER_TEST(mutated_messages_do_no_harm),
	};
	struct loop *loop = loop_new();
	struct signals *signals = signals_new(loop, NULL, NULL);
	signals_free(signals);
	loop_free(loop);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
