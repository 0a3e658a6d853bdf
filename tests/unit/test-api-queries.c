/* Routes of queries, restart and packages. The answers of real interpreters are tested in tests/e2e. */
#include "base/alloc.h"
#include "kernels/protocol.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

/* The fake answers a query with its own code. */
#define ANSWER "{\"status\":\"ok\",\"matches\":[\"jsön\"],\"start\":0,\"end\":0}"

static struct fake_script script;
static char *query_text; /* the payload of the last query */

static void on_frame(void *ctx, struct engine_stream *s, const struct frame *frame)
{
	if (frame->header.type == FRAME_QUERY) {
		free(query_text);
		query_text = xstrndup((const char *)frame->payload, frame->header.length);
	}
	fake_pid1_script.on_frame(ctx, s, frame);
}

static char *session;

static int begin(void **state)
{
	api_bench_begin(state);
	script = fake_pid1_script;
	script.on_frame = on_frame;
	fake_play(fake, &script);
	session = api_create();
	return 0;
}

static int end(void **state)
{
	fake_on_call = NULL;
	free(take_ptr(session));
	free(take_ptr(query_text));
	return api_bench_end(state);
}

static struct reply call(const char *rest, const char *body)
{
	AUTO(freep) char *target = xasprintf("/v1/sessions/%s/%s", session, rest);
	return api_call("POST", target, NULL, body);
}

static const char *text_of(const struct reply *r, const char *name)
{
	const char *text = json_string_value(json_object_get(r->json, name));
	return text ? text : "";
}

static void the_cursor_is_at_the_end_by_default(void **state)
{
	json_auto_t *code = json_pack("{s:s}", "code", ANSWER);
	AUTO(freep) char *body = json_dumps(code, 0);
	AUTO(reply_release) struct reply r = call("complete", body);
	json_t *matches = json_object_get(r.json, "matches");
	assert_int_equal(r.status, 200);
	assert_string_equal(json_string_value(json_array_get(matches, 0)), "jsön");
	json_auto_t *query = json_loads(query_text, 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(query, "cursor")), strlen(ANSWER) - 1);
}

static void bad_queries_are_refused(void **state)
{
	static const char *const bodies[] = { "{}", "{\"code\": 1}", "{\"code\": \"x\", \"cursor\": -1}",
					      "{\"code\": \"x\", \"detail\": true}" };
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		AUTO(reply_release) struct reply r = call("complete", bodies[i]);
		assert_int_equal(r.status, 400);
	}
}

static void finish(struct fake_container *c, struct fake_call *run)
{
	fake_call_end(c, run, "ok");
}

static void a_busy_interpreter_is_a_conflict(void **state)
{
	static const char *const states[] = { "busy", "timeout" };
	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		AUTO(freep) char *body = xasprintf("{\"code\": \"{\\\"status\\\":\\\"%s\\\"}\"}", states[i]);
		AUTO(reply_release) struct reply r = call("inspect", body);
		assert_int_equal(r.status, 409);
		assert_string_equal(text_of(&r, "cause"), "interpreter_busy");
		assert_non_null(strstr(text_of(&r, "hint"), "Try again"));
	}
}

static void a_restart_waits_for_the_new_interpreter(void **state)
{
	fake_on_call = finish;
	AUTO(reply_release) struct reply r = call("restart", NULL);
	assert_int_equal(r.status, 200);
	assert_string_equal(text_of(&r, "ending"), "ok");
}

static char *command;

static void note_command(struct fake_container *c, struct fake_call *run)
{
	free(command);
	command = xstrdup(run->text);
	fake_call_end(c, run, "ok");
}

static void packages_are_installed_by_a_command(void **state)
{
	fake_on_call = note_command;
	AUTO(freep) char *target = xasprintf("/v1/sessions/%s/packages", session);
	AUTO(reply_release) struct reply r = api_call("POST", target, "Prefer: wait=30\r\n",
						      "{\"packages\": {\"pandas\": \">=2,<3\", \"numpy\": \"\"}}");
	assert_int_equal(r.status, 200);
	assert_string_equal(text_of(&r, "kind"), "command");
	assert_string_equal(command, "python3 -I /opt/husk/kernel/install.py --later "
				     "198<<<'{\"numpy\":\"\",\"pandas\":\">=2,<3\"}'");
	free(take_ptr(command));
	static const char *const bad[] = { "{\"packages\": {}}", "{\"packages\": {\"a'; id; '\": \"\"}}",
					   "{\"packages\": {\"numpy\": \"1'; id\"}}" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(reply_release) struct reply refused = call("packages", bad[i]);
		assert_int_equal(refused.status, 400);
	}
	assert_null(command);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_cursor_is_at_the_end_by_default), TEST(bad_queries_are_refused),
		TEST(a_busy_interpreter_is_a_conflict),	   TEST(a_restart_waits_for_the_new_interpreter),
		TEST(packages_are_installed_by_a_command),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
