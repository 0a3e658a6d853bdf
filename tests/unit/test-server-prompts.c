/* Prompts, completion and subscriptions, through the server and a manager that needs no engine. */
#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "mcp/completion.h"
#include "tests/unit/server-rig.h"

static json_t *ask(struct rig *r, const char *method, const char *params)
{
	AUTO(freep) char *line =
		xasprintf("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method, params);
	send(r, line);
	return receive(r, 1000);
}

static int error_of(const json_t *m)
{
	return (int)json_integer_value(at(m, "error|code"));
}

/* --- prompts ------------------------------------------------------------------------------------------------------- */

static void prompts_are_listed_in_every_revision(void **state)
{
	struct rig *r = *state;
	static const char *const versions[] = { "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25" };
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		initialize(r, versions[i]);
		json_auto_t *m = ask(r, "prompts/list", "{}");
		assert_int_equal(json_array_size(at(m, "result|prompts")), 3);
		assert_string_equal(text_at(m, "result|prompts|0|name"), "analyse_file");
		assert_string_equal(text_at(m, "result|prompts|0|arguments|0|name"), "file");
		assert_true(json_is_true(at(m, "result|prompts|0|arguments|0|required")));
		assert_int_equal(json_object_get(at(m, "result|prompts|0"), "title") != NULL, i >= 2);
		assert_null(at(m, "result|ttlMs"));
	}
	json_auto_t *modern = ask(r, "prompts/list", "{" META "}");
	assert_true(json_integer_value(at(modern, "result|ttlMs")) > 0);
	json_auto_t *discover = ask(r, "server/discover", "{" META "}");
	assert_true(json_is_object(at(discover, "result|capabilities|prompts")));
	assert_true(json_is_object(at(discover, "result|capabilities|completions")));
	assert_true(json_is_true(at(discover, "result|capabilities|resources|subscribe")));
	assert_true(json_is_true(at(discover, "result|capabilities|resources|listChanged")));
	json_auto_t *cursor = ask(r, "prompts/list", "{\"cursor\":\"x\"}");
	assert_int_equal(error_of(cursor), -32602);
}

static void prompts_carry_their_arguments(void **state)
{
	struct rig *r = *state;
	json_auto_t *m = ask(
		r, "prompts/get",
		"{\"name\":\"analyse_file\",\"arguments\":{\"file\":\"/data/50%s.csv\",\"question\":\"Why?\",\"session_id\":\"s1\"}}");
	const char *text = text_at(m, "result|messages|0|content|text");
	assert_string_equal(text_at(m, "result|messages|0|role"), "user");
	assert_non_null(strstr(text, "/data/50%s.csv"));
	assert_non_null(strstr(text, "Question: Why?"));
	assert_non_null(strstr(text, "Use session s1."));

	json_auto_t *bug =
		ask(r, "prompts/get",
		    "{\"name\":\"reproduce_bug\",\"arguments\":{\"report\":\"it fails\",\"language\":\"r\"}}");
	assert_non_null(strstr(text_at(bug, "result|messages|0|content|text"), "create_session {language: \"r\"}"));
	json_auto_t *bench =
		ask(r, "prompts/get", "{\"name\":\"benchmark\",\"arguments\":{\"code\":\"f()\",\"against\":\"g()\"}}");
	assert_non_null(strstr(text_at(bench, "result|messages|0|content|text"), "both give the same results"));
}

static void wrong_prompts_are_rejected(void **state)
{
	struct rig *r = *state;
	AUTO(freep) char *filler = xcalloc(1, (64u << 10) + 2);
	memset(filler, 'a', (64u << 10) + 1);
	AUTO(freep) char *too_long = xasprintf("{\"name\":\"benchmark\",\"arguments\":{\"code\":\"%s\"}}", filler);
	const char *const cases[] = {
		"{}",
		"{\"name\":5}",
		"{\"name\":\"nothing\"}",
		"{\"name\":\"benchmark\"}",
		"{\"name\":\"benchmark\",\"arguments\":{\"code\":\"\"}}",
		"{\"name\":\"benchmark\",\"arguments\":{\"code\":7}}",
		"{\"name\":\"benchmark\",\"arguments\":[]}",
		too_long,
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_auto_t *m = ask(r, "prompts/get", cases[i]);
		assert_int_equal(error_of(m), -32602);
	}
}

/* --- completion ---------------------------------------------------------------------------------------------------- */

#define PROMPT "{\"type\":\"ref/prompt\",\"name\":\"benchmark\"}"
#define FILE_PROMPT "{\"type\":\"ref/prompt\",\"name\":\"analyse_file\"}"
#define EXPORT "{\"type\":\"ref/resource\",\"uri\":\"husk://exports/{id}/{name}\"}"
#define RUN "{\"type\":\"ref/resource\",\"uri\":\"husk://run/{session_id}/{number}\"}"

static json_t *complete(struct rig *r, const char *ref, const char *name, const char *value, const char *context)
{
	AUTO(freep) char *params = xasprintf("{\"ref\":%s,\"argument\":{\"name\":\"%s\",\"value\":\"%s\"}%s%s}", ref,
					     name, value, context ? ",\"context\":" : "", context ? context : "");
	return ask(r, "completion/complete", params);
}

/* Takes ownership of the message. */
static void assert_values(json_t *m, const char *expected)
{
	json_auto_t *taken = m;
	AUTO(freep) char *values = json_dumps(at(taken, "result|completion|values"), JSON_COMPACT);
	assert_string_equal(values, expected);
}

static void arguments_are_completed(void **state)
{
	struct rig *r = *state;
	call_tool(r, "2", "create_session", "{}");
	json_decref(receive(r, 1000));
	json_auto_t *sessions = complete(r, PROMPT, "session_id", "", NULL);
	assert_true(json_array_size(at(sessions, "result|completion|values")) >= 1);
	assert_values(complete(r, PROMPT, "session_id", "no such", NULL), "[]");
	assert_values(complete(r, PROMPT, "language", "p", NULL), "[\"python\"]");
	assert_values(complete(r, PROMPT, "code", "p", NULL), "[]");
	assert_values(complete(r, FILE_PROMPT, "file", "/etc/", NULL), "[]");
	assert_values(complete(r, EXPORT, "id", "", NULL), "[\"e1\"]");
	assert_values(complete(r, EXPORT, "id", "x", NULL), "[]");
	assert_values(complete(r, EXPORT, "name", "", "{\"arguments\":{\"id\":\"e1\"}}"), "[\"e.txt\"]");
	assert_values(complete(r, EXPORT, "name", "", "{\"arguments\":{\"id\":\"e2\"}}"), "[]");
	assert_values(complete(r, RUN, "number", "", NULL), "[]");
	assert_values(complete(r, RUN, "number", "", "{\"arguments\":{\"session_id\":\"gone\"}}"), "[]");
	json_auto_t *runs = complete(r, RUN, "number", "", "{\"arguments\":{\"session_id\":\"s1\"}}");
	assert_int_equal(json_array_size(at(runs, "result|completion|values")), 1);
}

static void wrong_completions_are_rejected(void **state)
{
	struct rig *r = *state;
	static const char *const cases[] = {
		"{}",
		"{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"x\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}}",
		"{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"file:///\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}}",
		"{\"ref\":{\"type\":\"x\",\"name\":\"benchmark\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}}",
		"{\"ref\":" PROMPT ",\"argument\":{\"name\":\"a\"}}",
		"{\"ref\":" PROMPT ",\"argument\":{\"name\":\"a\",\"value\":5}}",
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_auto_t *m = ask(r, "completion/complete", cases[i]);
		assert_int_equal(error_of(m), -32602);
	}
}

static void make_file(const char *folder, const char *name)
{
	AUTO(freep) char *path = xasprintf("%s/%s", folder, name);
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static json_t *paths(const struct strv *allowed, const char *folder, const char *rest)
{
	AUTO(freep) char *value = xasprintf("%s%s", folder, rest);
	return completion_of_path(allowed, value);
}

static size_t n_paths(const struct strv *allowed, const char *folder, const char *rest)
{
	json_auto_t *m = paths(allowed, folder, rest);
	return json_array_size(at(m, "completion|values"));
}

static void paths_are_completed_in_allowed_folders(void **state)
{
	char place[] = "/tmp/husk-complete-XXXXXX";
	assert_non_null(mkdtemp(place));
	AUTO(freep) char *inside = xasprintf("%s/open", place);
	AUTO(freep) char *closed = xasprintf("%s/closed", place);
	AUTO(freep) char *link = xasprintf("%s/way", inside);
	AUTO(freep) char *below = xasprintf("%s/data", inside);
	assert_true(mkdir(inside, 0700) == 0 && mkdir(closed, 0700) == 0 && mkdir(below, 0700) == 0);
	assert_int_equal(symlink(closed, link), 0);
	make_file(closed, "secret");
	make_file(inside, "sales.csv");
	make_file(inside, ".hidden");
	make_file(inside, "bad\x1b[31m");
	make_file(inside, "bad\xff");
	AUTO(strv_release) struct strv allowed = { 0 };
	strv_add(&allowed, inside);

	json_auto_t *top = completion_of_path(&allowed, "");
	AUTO(freep) char *root = xasprintf("%s/", inside);
	assert_string_equal(text_at(top, "completion|values|0"), root);
	json_auto_t *all = paths(&allowed, inside, "/");
	AUTO(freep) char *first = xasprintf("%s/data/", inside);
	AUTO(freep) char *second = xasprintf("%s/sales.csv", inside);
	assert_int_equal(json_array_size(at(all, "completion|values")), 3);
	assert_string_equal(text_at(all, "completion|values|0"), first);
	assert_string_equal(text_at(all, "completion|values|1"), second);
	assert_int_equal(n_paths(&allowed, inside, "/sal"), 1);
	assert_int_equal(n_paths(&allowed, inside, "/.h"), 1);

	/* No path and no link leads outside. */
	assert_int_equal(n_paths(&allowed, closed, "/"), 0);
	assert_int_equal(n_paths(&allowed, inside, "/../closed/"), 0);
	assert_int_equal(n_paths(&allowed, inside, "/way/"), 0);
	assert_int_equal(n_paths(&allowed, inside, "/no such/"), 0);

	for (int i = 0; i < 150; i++) {
		AUTO(freep) char *name = xasprintf("%03d", i);
		make_file(below, name);
	}
	json_auto_t *many = paths(&allowed, below, "/");
	assert_int_equal(json_array_size(at(many, "completion|values")), 100);
	assert_true(json_is_true(at(many, "completion|hasMore")));

	(void)scratch_remove(place);
}

/* --- subscriptions ------------------------------------------------------------------------------------------------- */

#define LIST_CHANGED "notifications/resources/list_changed"
#define UPDATED "notifications/resources/updated"

static void export_one(struct rig *r)
{
	call_tool(r, "9", "export_files",
		  "{\"session_id\":\"s1\",\"files\":[{\"source\":\"a\"},{\"source\":\"bad\"}]}");
	json_auto_t *m = receive(r, 1000);
	assert_int_equal(json_integer_value(at(m, "id")), 9);
}

static void expect_notification(struct rig *r, const char *method, const char *uri, json_int_t subscription)
{
	json_auto_t *m = receive(r, 1000);
	assert_string_equal(text_at(m, "method"), method);
	if (uri)
		assert_string_equal(text_at(m, "params|uri"), uri);
	if (subscription)
		assert_int_equal(json_integer_value(at(m, "params|_meta|io.modelcontextprotocol/subscriptionId")),
				 subscription);
}

static void legacy_clients_subscribe(void **state)
{
	struct rig *r = *state;
	export_one(r);
	quiet(r); /* no client has initialized */
	initialize(r, "2025-06-18");
	export_one(r);
	expect_notification(r, LIST_CHANGED, NULL, 0);

	static const char *const good[] = { "husk://exports/", "husk://exports/e1/e.txt", "husk://exports/e1/e.txt" };
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		AUTO(freep) char *params = xasprintf("{\"uri\":\"%s\"}", good[i]);
		json_auto_t *m = ask(r, "resources/subscribe", params);
		assert_non_null(json_object_get(m, "result"));
	}
	export_one(r);
	expect_notification(r, LIST_CHANGED, NULL, 0);
	expect_notification(r, UPDATED, "husk://exports/e1/e.txt", 0);
	expect_notification(r, UPDATED, "husk://exports/e1/e.txt", 0);
	for (int i = 0; i < 2; i++) {
		json_auto_t *m = ask(r, "resources/unsubscribe", "{\"uri\":\"husk://exports/\"}");
		assert_non_null(json_object_get(m, "result"));
	}
	export_one(r);
	expect_notification(r, LIST_CHANGED, NULL, 0);
	expect_notification(r, UPDATED, "husk://exports/e1/e.txt", 0);
	quiet(r);

	json_auto_t *unknown = ask(r, "resources/subscribe", "{\"uri\":\"husk://exports/e2/e.txt\"}");
	assert_int_equal(error_of(unknown), -32002);
	json_auto_t *foreign = ask(r, "resources/subscribe", "{\"uri\":\"test://watched-resource\"}");
	assert_int_equal(error_of(foreign), -32002);
	json_auto_t *wrong = ask(r, "resources/subscribe", "{\"uri\":5}");
	assert_int_equal(error_of(wrong), -32602);
	json_auto_t *modern = ask(r, "resources/subscribe", "{\"uri\":\"husk://exports/\"," META "}");
	assert_int_equal(error_of(modern), -32601);
}

static void modern_clients_listen(void **state)
{
	struct rig *r = *state;
	send(r,
	     "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"resourcesListChanged\":true,"
	     "\"toolsListChanged\":true,\"resourceSubscriptions\":[\"husk://exports/e1/e.txt\",\"husk://exports/e2/x\",\"file:///\"]}," META
	     "}}");
	json_auto_t *m = receive(r, 1000);
	assert_string_equal(text_at(m, "method"), "notifications/subscriptions/acknowledged");
	AUTO(freep) char *honoured = json_dumps(at(m, "params|notifications"), JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(honoured,
			    "{\"resourceSubscriptions\":[\"husk://exports/e1/e.txt\"],\"resourcesListChanged\":true}");
	export_one(r);
	expect_notification(r, LIST_CHANGED, NULL, 5);
	expect_notification(r, UPDATED, "husk://exports/e1/e.txt", 5);
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}");
	export_one(r);
	quiet(r);
	json_auto_t *wrong =
		ask(r, "subscriptions/listen", "{\"notifications\":{\"resourceSubscriptions\":[5]}," META "}");
	assert_int_equal(error_of(wrong), -32602);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(prompts_are_listed_in_every_revision, set_up, tear_down),
		cmocka_unit_test_setup_teardown(prompts_carry_their_arguments, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wrong_prompts_are_rejected, set_up, tear_down),
		cmocka_unit_test_setup_teardown(arguments_are_completed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wrong_completions_are_rejected, set_up, tear_down),
		cmocka_unit_test(paths_are_completed_in_allowed_folders),
		cmocka_unit_test_setup_teardown(legacy_clients_subscribe, set_up, tear_down),
		cmocka_unit_test_setup_teardown(modern_clients_listen, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
