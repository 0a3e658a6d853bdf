/* kernels/jupyter/queries: queries as requests of the Jupyter protocol, and their replies. */
#include "kernels/jupyter/queries.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

/* Requests and answers, one per line. */
struct probe {
	struct queries queries;
	struct buf log;
	bool refuses;
};

static struct probe *probe;

static bool on_request(struct queries *q, const char *type, const json_t *content, char ret_id[MESSAGE_ID_LEN + 1])
{
	AUTO(freep) char *text = json_dumps(content, JSON_COMPACT | JSON_SORT_KEYS);
	if (probe->refuses)
		return false;
	buf_printf(&probe->log, "%s %s|", type, text);
	snprintf(ret_id, MESSAGE_ID_LEN + 1, "request-%s", type);
	return true;
}

static void on_answer(struct queries *q, const json_t *message)
{
	json_auto_t *copy = json_deep_copy(message);
	assert_string_equal(json_string_value(json_object_get(copy, "op")), "answer");
	json_object_del(copy, "op");
	AUTO(freep) char *text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
	buf_printf(&probe->log, "%s|", text);
}

static int set_up(void **state)
{
	probe = new0(struct probe);
	probe->queries = (struct queries){ .request = on_request, .answer = on_answer };
	return 0;
}

static int tear_down(void **state)
{
	buf_release(&probe->log);
	free(probe);
	return 0;
}

static bool query(const char *text, bool idle, uint64_t now_ms)
{
	json_auto_t *message = json_loads(text, 0, NULL);
	assert_non_null(message);
	return queries_send(&probe->queries, message, idle, now_ms);
}

static bool reply(const char *type, const char *parent, const char *content)
{
	json_auto_t *json = json_loads(content, 0, NULL);
	assert_non_null(json);
	return queries_replied(&probe->queries,
			       &(struct message){ .type = type, .parent_id = parent, .content = json });
}

static void expect(const char *log)
{
	assert_string_equal(buf_str(&probe->log), log);
	buf_reset(&probe->log);
}

#define COMPLETE "{\"op\":\"complete\",\"id\":4,\"code\":\"a.b\",\"cursor\":3,\"detail\":0}"
#define COMPLETE_REQUEST "complete_request {\"code\":\"a.b\",\"cursor_pos\":3}|"

static void each_kind_is_a_request(void **state)
{
	assert_true(query(COMPLETE, true, 0));
	expect(COMPLETE_REQUEST);
	assert_true(reply(
		"complete_reply", "request-complete_request",
		"{\"status\":\"ok\",\"matches\":[\"bc\",5,\"\\u001b[1mbd\"],\"cursor_start\":2,\"cursor_end\":3}"));
	expect("{\"end\":3,\"id\":4,\"matches\":[\"bc\",\"bd\"],\"more\":false,\"start\":2,\"status\":\"ok\"}|");
	query("{\"op\":\"inspect\",\"id\":5,\"code\":\"a\",\"cursor\":1,\"detail\":1}", true, 0);
	expect("inspect_request {\"code\":\"a\",\"cursor_pos\":1,\"detail_level\":1}|");
	reply("inspect_reply", "request-inspect_request",
	      "{\"found\":true,\"data\":{\"text/plain\":\"\\u001b[1mhelp\",\"image/png\":\"aGk=\"}}");
	expect("{\"data\":{\"text/plain\":\"help\"},\"found\":true,\"id\":5,\"status\":\"ok\"}|");
	query("{\"op\":\"is_complete\",\"id\":6,\"code\":\"if\",\"cursor\":0,\"detail\":0}", true, 0);
	expect("is_complete_request {\"code\":\"if\"}|");
	reply("is_complete_reply", "request-is_complete_request", "{\"status\":\"incomplete\",\"indent\":\"  \"}");
	expect("{\"completeness\":\"incomplete\",\"id\":6,\"indent\":\"  \",\"status\":\"ok\"}|");
}

static void other_messages_are_ignored(void **state)
{
	assert_false(query("{\"op\":\"look\",\"id\":1}", true, 0));
	assert_false(query("{\"id\":1}", true, 0));
	assert_false(reply("execute_reply", "x", "{}"));
	assert_true(reply("complete_reply", "x", "{}")); /* no query waits for it */
	expect("");
}

static void a_busy_or_dead_kernel_gets_no_query(void **state)
{
	query(COMPLETE, false, 0);
	expect("{\"id\":4,\"status\":\"busy\"}|");
	probe->refuses = true;
	query(COMPLETE, true, 0);
	expect("{\"id\":4,\"status\":\"busy\"}|");
}

static void a_query_is_abandoned(void **state)
{
	query(COMPLETE, true, 0);
	queries_leave(&probe->queries);
	queries_leave(&probe->queries);
	expect(COMPLETE_REQUEST "{\"id\":4,\"status\":\"timeout\"}|");
	reply("complete_reply", "request-complete_request", "{\"matches\":[\"late\"]}");
	expect("");
}

static void an_unsupported_query_is_sent_once(void **state)
{
	query(COMPLETE, true, 1000);
	queries_tick(&probe->queries, 1000 + QUERIES_PATIENCE_MS - 1);
	expect(COMPLETE_REQUEST);
	queries_tick(&probe->queries, 1000 + QUERIES_PATIENCE_MS);
	expect("{\"id\":4,\"status\":\"timeout\"}|");
	query(COMPLETE, true, 5000);
	expect("{\"id\":4,\"status\":\"cannot\"}|");
	/* The reply comes late: the kernel was only slow. */
	reply("complete_reply", "request-complete_request", "{}");
	query(COMPLETE, true, 6000);
	expect(COMPLETE_REQUEST);
}

static void replies_are_bounded(void **state)
{
	json_auto_t *many = json_array(), *content = json_object();
	for (int i = 0; i < 5000; i++)
		json_array_append_new(many, json_string("a-match-that-is-long-enough-to-count-for-something"));
	json_object_set(content, "matches", many);
	AUTO(freep) char *text = json_dumps(content, 0);
	query(COMPLETE, true, 0);
	reply("complete_reply", "request-complete_request", text);
	assert_true(probe->log.len < 100000);
	assert_non_null(strstr(buf_str(&probe->log), "\"more\":true"));
	buf_reset(&probe->log);
	/* Objects that are not replies. */
	query(COMPLETE, true, 0);
	reply("complete_reply", "request-complete_request", "{\"matches\":{},\"cursor_start\":\"x\"}");
	expect(COMPLETE_REQUEST "{\"id\":4,\"matches\":[],\"more\":false,\"status\":\"ok\"}|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_kind_is_a_request, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_messages_are_ignored, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_busy_or_dead_kernel_gets_no_query, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_query_is_abandoned, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_unsupported_query_is_sent_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(replies_are_bounded, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
