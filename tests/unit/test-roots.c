/* The roots of a client: when they are requested, which parts of the answer are used, and which requests wait for
 * it. */
#include "mcp/roots.h"
#include "tests/unit/server-rig.h"

#define IMPORT "{\"session_id\":\"s1\",\"files\":[{\"source\":\"/a/b\"}]}"

static void initialize_with_roots(struct rig *r, const char *version)
{
	AUTO(freep) char *line = xasprintf(
		"{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":{\"roots\":{\"listChanged\":true}},"
		"\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
		version);
	expect(r, line, "\"init\" ok");
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static void answer(struct rig *r, const json_t *request, const char *result)
{
	assert_string_equal(text_at(request, "method"), "roots/list");
	AUTO(freep) char *line = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}", text_at(request, "id"), result);
	send(r, line);
}

static void expect_imported(struct rig *r, int id)
{
	json_auto_t *m = receive(r, 1000);
	assert_int_equal(json_integer_value(at(m, "id")), id);
	assert_non_null(at(m, "result|content"));
	assert_false(json_is_true(at(m, "result|isError")));
}

static void an_import_waits_for_the_roots(void **state)
{
	struct rig *r = *state;
	initialize_with_roots(r, "2025-11-25");
	quiet(r); /* no path was named yet */
	call_tool(r, "1", "import_files",
		  "{\"session_id\":\"s1\",\"files\":[{\"file_content\":\"x\",\"destination\":\"d\"}]}");
	expect_imported(r, 1);
	call_tool(r, "2", "import_files", IMPORT);
	call_tool(r, "3", "import_files", IMPORT);
	json_auto_t *request = receive(r, 1000);
	quiet(r);
	send(r, "{\"jsonrpc\":\"2.0\",\"id\":\"other\",\"result\":{\"roots\":[{\"uri\":\"file:///evil\"}]}}");
	quiet(r);
	answer(r, request,
	       "\"result\":{\"roots\":[{\"uri\":\"file:///data/a%20b\"},{\"uri\":\"https://x/y\"},{\"uri\":7},{},{\"uri\":\"file:///srv\"}]}");
	expect_imported(r, 2);
	expect_imported(r, 3);
	assert_string_equal(fake.allowed, "/data/a b:/srv");
	/* The roots are known now. A second answer to the same request is ignored. */
	answer(r, request, "\"result\":{\"roots\":[{\"uri\":\"file:///evil\"}]}");
	call_tool(r, "4", "import_files", IMPORT);
	expect_imported(r, 4);
	assert_string_equal(fake.allowed, "/data/a b:/srv");
}

static void changed_roots_are_requested_again(void **state)
{
	struct rig *r = *state;
	initialize_with_roots(r, "2025-03-26");
	call_tool(r, "1", "import_files", IMPORT);
	json_auto_t *first = receive(r, 1000);
	answer(r, first, "\"result\":{\"roots\":[{\"uri\":\"file:///a\"}]}");
	expect_imported(r, 1);
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
	quiet(r);
	call_tool(r, "2", "import_files", IMPORT);
	json_auto_t *second = receive(r, 1000);
	answer(r, second, "\"error\":{\"code\":-32601,\"message\":\"no\"}");
	expect_imported(r, 2);
	assert_string_equal(fake.allowed, "");
}

static void roots_that_change_meanwhile_are_requested_again(void **state)
{
	struct rig *r = *state;
	initialize_with_roots(r, "2025-11-25");
	call_tool(r, "1", "import_files", IMPORT);
	json_auto_t *first = receive(r, 1000);
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}");
	call_tool(r, "2", "import_files", IMPORT);
	json_auto_t *withdrawn = receive(r, 1000), *second = receive(r, 1000);
	assert_string_equal(text_at(withdrawn, "params|requestId"), text_at(first, "id"));
	answer(r, first, "\"result\":{\"roots\":[{\"uri\":\"file:///old\"}]}");
	quiet(r);
	answer(r, second, "\"result\":{\"roots\":[{\"uri\":\"file:///new\"}]}");
	expect_imported(r, 1);
	expect_imported(r, 2);
	assert_string_equal(fake.allowed, "/new");
}

static void an_import_that_waits_can_be_cancelled(void **state)
{
	struct rig *r = *state;
	initialize_with_roots(r, "2025-11-25");
	call_tool(r, "1", "import_files", IMPORT);
	json_auto_t *request = receive(r, 1000);
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
	answer(r, request, "\"result\":{\"roots\":[]}");
	quiet(r);
}

static void a_client_that_does_not_answer_times_out(void **state)
{
	struct rig *r = *state;
	initialize_with_roots(r, "2025-11-25");
	call_tool(r, "1", "import_files", IMPORT);
	json_auto_t *request = receive(r, 1000);
	loop_skip(r->loop, 5000);
	/* The request is withdrawn, like every request to a client. */
	json_auto_t *withdrawn = receive(r, 1000);
	assert_string_equal(text_at(withdrawn, "method"), "notifications/cancelled");
	assert_string_equal(text_at(withdrawn, "params|requestId"), text_at(request, "id"));
	expect_imported(r, 1);
	answer(r, request, "\"result\":{\"roots\":[{\"uri\":\"file:///late\"}]}");
	call_tool(r, "2", "import_files", IMPORT);
	expect_imported(r, 2); /* answered without a second request for roots */
	assert_string_equal(fake.allowed, "");
}

static void clients_without_roots_get_no_request(void **state)
{
	struct rig *r = *state;
	initialize(r, "2025-11-25");
	call_tool(r, "1", "import_files", IMPORT);
	expect_imported(r, 1);
}

/* evidence: paths-host */
static void uris_of_other_places_are_refused(void **state)
{
	static const struct {
		const char *uri, *path;
	} cases[] = {
		{ "file:///a/b", "/a/b" }, { "FILE://localhost/a", "/a" }, { "file:///%C3%A9", "/\xc3\xa9" },
		{ "file:///", "/" },	   { "file://host/a", NULL },	   { "file:relative", NULL },
		{ "/plain", NULL },	   { "http:///a", NULL },	   { "file:///a%00b", NULL },
		{ "file:///a%4", NULL },   { "file:///a%zz", NULL },	   { "file:///%ff", NULL },
		{ "file:///a?b", NULL },   { "file:///a#b", NULL },	   { "", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(freep) char *path = roots_path(cases[i].uri);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
		else
			assert_null(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_import_waits_for_the_roots, set_up, tear_down),
		cmocka_unit_test_setup_teardown(changed_roots_are_requested_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(roots_that_change_meanwhile_are_requested_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_import_that_waits_can_be_cancelled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_client_that_does_not_answer_times_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(clients_without_roots_get_no_request, set_up, tear_down),
		cmocka_unit_test(uris_of_other_places_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
