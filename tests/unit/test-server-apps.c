/* MCP Apps: what clients that declare the extension hear, and the tool of the document. tests/page/ has the document. */
#include "tests/unit/server-rig.h"

#include "mcp/apps.h"

#define APPS "\"extensions\":{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":[\"text/html;profile=mcp-app\"]}}"
#define META_APPS                                                                                                      \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                       \
	"\"io.modelcontextprotocol/clientCapabilities\":{" APPS "}}"

static json_t *ask(struct rig *r, const char *method, const char *params)
{
	AUTO(freep) char *line =
		xasprintf("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}", method, params);
	send(r, line);
	return receive(r, 1000);
}

static json_t *show(struct rig *r, const char *args)
{
	AUTO(freep) char *params = xasprintf("\"name\":\"show_run\",\"arguments\":{%s}," META_APPS, args);
	return ask(r, "tools/call", params);
}

static const json_t *run_of(const json_t *message)
{
	const json_t *run = json_object_get(at(message, "result|_meta"), APPS_META);
	assert_non_null(run);
	return run;
}

static size_t count_tools(const json_t *message, bool with_document)
{
	size_t i, n = 0;
	json_t *tool;
	json_array_foreach(at(message, "result|tools"), i, tool) {
		bool refers = streq(text_at(tool, "_meta|ui|resourceUri"), APPS_URI);
		assert_int_equal(refers, streq(text_at(tool, "_meta|ui/resourceUri"), APPS_URI));
		n += refers == with_document;
	}
	return n;
}

static void tools_name_the_document_only_for_clients_that_show_it(void **state)
{
	struct rig *r = *state;
	json_auto_t *with = ask(r, "tools/list", META_APPS), *without = ask(r, "tools/list", META);
	assert_int_equal(count_tools(with, true), 3);
	assert_string_equal(text_at(with, "result|tools|8|name"), "show_run");
	assert_string_equal(text_at(with, "result|tools|8|_meta|ui|visibility|0"), "app");
	assert_string_equal(text_at(with, "result|cacheScope"), "private");
	assert_int_equal(count_tools(without, true), 0);
	assert_int_equal(count_tools(without, false), 8);
	assert_string_equal(text_at(without, "result|cacheScope"), "public");
}

static void the_document_is_read_only_by_clients_that_show_it(void **state)
{
	struct rig *r = *state;
	json_auto_t *with = ask(r, "resources/read", "\"uri\":\"" APPS_URI "\"," META_APPS);
	assert_string_equal(text_at(with, "result|contents|0|mimeType"), APPS_TYPE);
	assert_string_equal(text_at(with, "result|contents|0|text"), "<!doctype html>");
	json_auto_t *without = ask(r, "resources/read", "\"uri\":\"" APPS_URI "\"," META);
	assert_int_equal(json_integer_value(at(without, "error|code")), -32602);
	json_auto_t *call = ask(r, "tools/call", "\"name\":\"show_run\",\"arguments\":{\"session_id\":\"s1\"}," META);
	assert_string_equal(text_at(call, "error|message"), "Unknown tool: show_run");
}

static void legacy_clients_declare_it_once(void **state)
{
	struct rig *r = *state;
	json_auto_t *hello = ask(r, "initialize", "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{" APPS "}");
	assert_string_equal(text_at(hello, "result|capabilities|extensions|io.modelcontextprotocol/ui|mimeTypes|0"),
			    APPS_TYPE);
	json_auto_t *list = ask(r, "tools/list", "");
	assert_int_equal(count_tools(list, true), 3);
	/* Wrong declarations count as none. */
	static const char *const wrong[] = { "[]", "5", "{}", "{\"mimeTypes\":5}",
					     "{\"mimeTypes\":[5,\"text/html\"]}" };
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		AUTO(freep) char *params = xasprintf(
			"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"extensions\":{\"" APPS_EXTENSION
			"\":%s}}",
			wrong[i]);
		json_auto_t *again = ask(r, "initialize", params), *plain = ask(r, "tools/list", "");
		assert_null(at(again, "result|capabilities|extensions"));
		assert_int_equal(count_tools(plain, true), 0);
	}
}

static void a_run_comes_without_large_contents(void **state)
{
	struct rig *r = *state;
	json_auto_t *newest = show(r, "\"session_id\":\"s1\"");
	const json_t *run = run_of(newest);
	assert_int_equal(json_integer_value(at(run, "run")), 3);
	assert_string_equal(text_at(run, "text"), "show()");
	assert_string_equal(text_at(run, "parts|0|text"), "hello");
	assert_null(at(run, "parts|1|data"));
	assert_int_equal(json_integer_value(at(run, "parts|1|large|text/html")), 400000);
	AUTO(freep) char *line = json_dumps(newest, JSON_COMPACT);
	assert_in_range(strlen(line), 100, 2000);
	json_auto_t *same = show(r, "\"session_id\":\"s1\",\"run\":3,\"known\":7");
	assert_true(json_is_true(at(run_of(same), "unchanged")));
	json_auto_t *missing = show(r, "\"session_id\":\"s1\",\"run\":4"), *gone = show(r, "\"session_id\":\"gone\"");
	assert_true(json_is_true(at(missing, "result|isError")));
	assert_true(json_is_true(at(gone, "result|isError")));
}

static void large_contents_come_in_whole_characters(void **state)
{
	struct rig *r = *state;
	json_int_t offset = 0, size = 1, calls = 0;
	while (offset < size) {
		AUTO(freep) char *args =
			xasprintf("\"session_id\":\"s1\",\"run\":3,\"output\":1,\"type\":\"text/html\",\"offset\":%lld",
				  (long long)offset);
		json_auto_t *m = show(r, args);
		const json_t *piece = run_of(m);
		json_int_t next = json_integer_value(at(piece, "next"));
		assert_int_equal(next - offset, json_string_length(at(piece, "data")));
		assert_memory_equal(text_at(piece, "data"), "é", 2);
		assert_true(next > offset);
		offset = next;
		size = json_integer_value(at(piece, "size"));
		calls++;
	}
	assert_int_equal(offset, 400000);
	assert_in_range(calls, 2, 4);
	/* From the middle of a character, and beyond the end. */
	json_auto_t *middle =
		show(r, "\"session_id\":\"s1\",\"run\":3,\"output\":1,\"type\":\"text/html\",\"offset\":1");
	assert_memory_equal(text_at(run_of(middle), "data"), "é", 2);
	json_auto_t *end =
		show(r, "\"session_id\":\"s1\",\"run\":3,\"output\":1,\"type\":\"text/html\",\"offset\":999999");
	assert_string_equal(text_at(run_of(end), "data"), "");
	json_auto_t *text = show(r, "\"session_id\":\"s1\",\"run\":3,\"output\":0");
	assert_string_equal(text_at(run_of(text), "data"), "hello");
	static const char *const wrong[] = { "\"output\":2",
					     "\"output\":1",
					     "\"output\":1,\"type\":\"image/png\"",
					     "\"output\":0,\"type\":\"text/html\"",
					     "\"output\":-1",
					     "\"offset\":-1" };
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		AUTO(freep) char *args = xasprintf("\"session_id\":\"s1\",\"run\":3,%s", wrong[i]);
		json_auto_t *m = show(r, args);
		assert_true(json_is_true(at(m, "result|isError")));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tools_name_the_document_only_for_clients_that_show_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_document_is_read_only_by_clients_that_show_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(legacy_clients_declare_it_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_comes_without_large_contents, set_up, tear_down),
		cmocka_unit_test_setup_teardown(large_contents_come_in_whole_characters, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
