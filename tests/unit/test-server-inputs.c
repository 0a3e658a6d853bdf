/* Prompts of a run that the client's user answers, and log messages for a client, through the server and a manager that needs no engine. */
#include "tests/unit/unit.h"

#include "base/log.h"
#include "tests/unit/server-rig.h"

#define MODERN(capabilities)                                                                                           \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                       \
	"\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}"
#define FORM "{\"elicitation\":{}}"

static void greet(struct rig *r, const char *capabilities)
{
	AUTO(freep) char *line = xasprintf(
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
		"\"capabilities\":%s,\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
		capabilities);
	send(r, line);
	json_auto_t *m = receive(r, 1000);
	assert_non_null(at(m, "result|capabilities|logging"));
}

/* more: further members of params, with a comma in front. */
static void run_cell(struct rig *r, int id, const char *code, const char *more)
{
	AUTO(freep) char *line = xasprintf(
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_code\","
		"\"arguments\":{\"session_id\":\"s\",\"code\":\"%s\",\"interactive\":true}%s}}",
		id, code, more);
	send(r, line);
}

static void answer(struct rig *r, const json_t *request, const char *result)
{
	AUTO(freep) char *line =
		xasprintf("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":%s}", text_at(request, "id"), result);
	send(r, line);
}

static void expect_form(const json_t *params)
{
	assert_non_null(strstr(text_at(params, "message"), "Your name?"));
	assert_string_equal(text_at(params, "requestedSchema|properties|input|type"), "string");
}

static void a_legacy_client_answers_and_the_run_continues(void **state)
{
	struct rig *r = *state;
	greet(r, FORM);
	run_cell(r, 1, "ask", "");
	json_auto_t *request = receive(r, 1000);
	assert_string_equal(text_at(request, "method"), "elicitation/create");
	expect_form(at(request, "params"));
	answer(r, request, "{\"action\":\"accept\",\"content\":{\"input\":\"Ada\"}}");
	json_auto_t *m = receive(r, 1000);
	assert_int_equal(json_integer_value(at(m, "id")), 1);
	assert_non_null(strstr(text_at(m, "result|content|0|text"), "before"));
	assert_null(strstr(text_at(m, "result|content|0|text"), "hint"));
	assert_non_null(strstr(text_at(m, "result|content|1|text"), "Ada"));
}

static void a_declined_prompt_is_passed_to_the_model(void **state)
{
	static const char *const refusals[] = { "{\"action\":\"decline\"}", "{\"action\":\"cancel\"}", "{}",
						"{\"action\":\"accept\",\"content\":{\"input\":7}}" };
	struct rig *r = *state;
	greet(r, FORM);
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		run_cell(r, 1, "ask", "");
		json_auto_t *request = receive(r, 1000);
		answer(r, request, refusals[i]);
		json_auto_t *m = receive(r, 1000);
		assert_non_null(strstr(text_at(m, "result|content|0|text"), "before"));
		assert_non_null(strstr(text_at(m, "result|content|1|text"), "waiting for input"));
	}
}

/* A form must not request secrets. */
static void passwords_and_clients_without_elicitation_go_to_the_model(void **state)
{
	struct rig *r = *state;
	greet(r, FORM);
	run_cell(r, 1, "ask secret", "");
	json_auto_t *secret = receive(r, 1000);
	assert_non_null(strstr(text_at(secret, "result|content|0|text"), "waiting for input"));
	static const char *const without[] = { "{}", "{\"elicitation\":{\"url\":{}}}", "{\"elicitation\":7}" };
	for (size_t i = 0; i < ARRAY_LEN(without); i++) {
		greet(r, without[i]);
		run_cell(r, 2, "ask", "");
		json_auto_t *m = receive(r, 1000);
		assert_non_null(strstr(text_at(m, "result|content|0|text"), "waiting for input"));
	}
}

static void a_cancelled_call_withdraws_its_request(void **state)
{
	struct rig *r = *state;
	greet(r, FORM);
	run_cell(r, 1, "ask", "");
	json_auto_t *request = receive(r, 1000);
	send(r, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
	json_auto_t *m = receive(r, 1000);
	assert_string_equal(text_at(m, "method"), "notifications/cancelled");
	assert_string_equal(text_at(m, "params|requestId"), text_at(request, "id"));
	answer(r, request, "{\"action\":\"accept\",\"content\":{\"input\":\"Ada\"}}");
	assert_null(receive(r, 50));
}

static void a_modern_client_repeats_the_request_with_its_input(void **state)
{
	struct rig *r = *state;
	run_cell(r, 1, "ask", "," MODERN(FORM));
	json_auto_t *m = receive(r, 1000);
	assert_string_equal(text_at(m, "result|resultType"), "input_required");
	assert_string_equal(text_at(m, "result|inputRequests|input|method"), "elicitation/create");
	expect_form(at(m, "result|inputRequests|input|params"));
	const char *name = text_at(m, "result|requestState");
	AUTO(freep) char *again =
		xasprintf(",\"requestState\":\"%s\",\"inputResponses\":{\"input\":{\"action\":\"accept\","
			  "\"content\":{\"input\":\"Ada\"}}}," MODERN(FORM),
			  name);
	run_cell(r, 2, "ask", again);
	json_auto_t *done = receive(r, 1000);
	assert_string_equal(text_at(done, "result|resultType"), "complete");
	assert_non_null(strstr(text_at(done, "result|content|0|text"), "before"));
	assert_non_null(strstr(text_at(done, "result|content|1|text"), "Ada"));
	/* A request state is valid only once. */
	run_cell(r, 3, "ask", again);
	json_auto_t *twice = receive(r, 1000);
	assert_int_equal(json_integer_value(at(twice, "error|code")), -32602);
}

static void unknown_states_are_refused(void **state)
{
	static const char *const wrong[] = { "\"00000000000000000000000000000000\"", "7", "\"\"" };
	struct rig *r = *state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		AUTO(freep) char *more = xasprintf(",\"requestState\":%s," MODERN(FORM), wrong[i]);
		unsigned started = fake.started;
		run_cell(r, 1, "ask", more);
		json_auto_t *m = receive(r, 1000);
		assert_int_equal(json_integer_value(at(m, "error|code")), -32602);
		assert_int_equal(fake.started, started);
	}
}

/* --- log messages -------------------------------------------------------------------------------------------------- */

static void set_level(struct rig *r, const char *level)
{
	AUTO(freep) char *line = xasprintf(
		"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"%s\"}}", level);
	send(r, line);
}

static void log_messages_respect_the_level(void **state)
{
	struct rig *r = *state;
	greet(r, "{}");
	log_info("nobody asked for this");
	set_level(r, "info");
	json_auto_t *m = receive(r, 1000);
	assert_true(json_is_object(at(m, "result")));
	log_info("the answer is %d", 42);
	log_debug("too much");
	json_auto_t *message = receive(r, 1000);
	assert_string_equal(text_at(message, "method"), "notifications/message");
	assert_string_equal(text_at(message, "params|level"), "info");
	assert_string_equal(text_at(message, "params|logger"), "husk");
	assert_string_equal(text_at(message, "params|data"), "the answer is 42");
	set_level(r, "emergency");
	json_auto_t *quiet = receive(r, 1000);
	assert_true(json_is_object(at(quiet, "result")));
	log_info("not severe enough");
	assert_null(receive(r, 20));
	set_level(r, "loud");
	json_auto_t *refused = receive(r, 1000);
	assert_int_equal(json_integer_value(at(refused, "error|code")), -32602);
}

#define SERVER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(a_legacy_client_answers_and_the_run_continues),
		SERVER_TEST(a_declined_prompt_is_passed_to_the_model),
		SERVER_TEST(passwords_and_clients_without_elicitation_go_to_the_model),
		SERVER_TEST(a_cancelled_call_withdraws_its_request),
		SERVER_TEST(a_modern_client_repeats_the_request_with_its_input),
		SERVER_TEST(unknown_states_are_refused),
		SERVER_TEST(log_messages_respect_the_level),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
