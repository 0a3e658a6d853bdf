/* The API over the fake engine: routing, decoding, problems, and the routes of sessions. */
#include "api/conversations.h"
#include "base/alloc.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

static const char *text_of(const struct reply *r, const char *name)
{
	const char *text = json_string_value(json_object_get(r->json, name));
	return text ? text : "";
}

static void health_needs_nothing(void **state)
{
	AUTO(reply_release) struct reply r = api_call("GET", "/healthz", NULL, NULL);
	assert_int_equal(r.status, 200);
	assert_string_equal(text_of(&r, "status"), "ok");
}

static void an_unknown_route_is_a_problem_with_a_hint(void **state)
{
	AUTO(reply_release) struct reply r = api_call("GET", "/v1/nothing", NULL, NULL);
	AUTO(freep) char *type = reply_field(&r, "Content-Type");
	assert_int_equal(r.status, 404);
	assert_string_equal(type, "application/problem+json");
	assert_non_null(strstr(text_of(&r, "hint"), "openapi.json"));
}

static void a_wrong_method_names_the_right_ones(void **state)
{
	AUTO(reply_release) struct reply r = api_call("PUT", "/v1/sessions", NULL, "{}");
	AUTO(freep) char *allow = reply_field(&r, "Allow");
	assert_int_equal(r.status, 405);
	assert_string_equal(allow, "POST, GET, HEAD");
}

static void bad_bodies_are_refused(void **state)
{
	static const struct {
		const char *body;
		int status;
	} cases[] = {
		{ "{", 400 },
		{ "[]", 400 },
		{ "{\"language\": 3}", 400 },
		{ "{\"unknown\": 1}", 400 },
		{ "{\"language\": \"cobol\"}", 400 },
		{ "{\"memory\": \"1k\"}", 400 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(reply_release) struct reply r = api_call("POST", "/v1/sessions", NULL, cases[i].body);
		assert_int_equal(r.status, cases[i].status);
		assert_true(*text_of(&r, "detail"));
	}
}

static void repeated_values_are_refused(void **state)
{
	static const char *const twice[] = { "Authorization: Bearer a\r\nAuthorization: Bearer a\r\n",
					     "Origin: null\r\nOrigin: null\r\n",
					     "Husk-Conversation: a\r\nHusk-Conversation: b\r\n",
					     "Idempotency-Key: a\r\nidempotency-key: b\r\n" };
	for (size_t i = 0; i < ARRAY_LEN(twice); i++) {
		AUTO(reply_release) struct reply r = api_call("GET", "/v1/sessions", twice[i], NULL);
		assert_int_equal(r.status, 400);
		assert_non_null(strstr(text_of(&r, "detail"), "more than once"));
	}
	AUTO(reply_release) struct reply r = api_call("GET", "/v1/sessions?all=true&all=false", NULL, NULL);
	assert_int_equal(r.status, 400);
	assert_non_null(strstr(text_of(&r, "detail"), "'all' is given more than once"));
}

static void another_type_of_body_is_refused(void **state)
{
	AUTO(reply_release) struct reply r =
		api_call("POST", "/v1/sessions", "Content-Type: text/plain\r\nContent-Length: 0\r\n", NULL);
	assert_int_equal(r.status, 415);
}

static void names_of_conversations_are_checked(void **state)
{
	static const char *const bad[] = { "", "@red/x", "\xff\xfe" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(freep) char *field = xasprintf("Husk-Conversation: %s\r\n", bad[i]);
		AUTO(reply_release) struct reply r = api_call("GET", "/v1/sessions", field, NULL);
		assert_int_equal(r.status, 400);
	}
	AUTO(reply_release) struct reply good =
		api_call("GET", "/v1/sessions", "Husk-Conversation: \xc3\xa4 %_/..\r\n", NULL);
	assert_int_equal(good.status, 200);
}

static void names_of_keys_can_be_shown_on_terminals(void **state)
{
	static const char *const bad[] = { "", "a\nb", "\x1b[2J", "\xff", "\xe2\x80\xae" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(fail_release) struct fail f = { 0 };
		struct add_key_request request = { .name = bad[i], .tenant = "acme", .scopes = SCOPE_RUN };
		assert_null(manager_add_key(manager, &request, &f));
		assert_int_equal(f.kind, FAIL_INVALID);
	}
	AUTO(freep) char *key = api_key("B\xc3\xbcro 2", "acme", SCOPE_RUN);
}

static void note_close(void *ctx, struct conversation *c)
{
	AUTO(freep) char *tenant = tenant_of(conversation_id(c));
	assert_string_equal(tenant, "red");
	++*(unsigned *)ctx;
}

static void a_tenant_with_many_conversations_closes_its_own(void **state)
{
	unsigned closed = 0;
	AUTO(fail_release) struct fail f = { 0 };
	struct conversations *all = conversations_new(manager, conversation, note_close, &closed);
	conversations_put(all, conversations_get(all, "@blue/one", &f));
	for (int i = 0; i < 300; i++) {
		AUTO(freep) char *id = xasprintf("@red/%d", i);
		struct conversation *c = conversations_get(all, id, &f);
		assert_non_null(c);
		conversations_put(all, c);
	}
	assert_int_equal(closed, 300 + 1 - 256);
	conversations_free(all);
}

static void deep_bodies_are_refused(void **state)
{
	AUTO(buf_release) struct buf body = { 0 };
	for (int i = 0; i < 1000; i++)
		buf_add_str(&body, "[");
	AUTO(reply_release) struct reply r = api_call("POST", "/v1/sessions", NULL, buf_str(&body));
	assert_int_equal(r.status, 400);
	assert_non_null(strstr(text_of(&r, "detail"), "nested"));
}

static void a_session_lives(void **state)
{
	AUTO(freep) char *id = api_create();
	AUTO(freep) char *path = xasprintf("/v1/sessions/%s", id);
	AUTO(reply_release) struct reply list = api_call("GET", "/v1/sessions", NULL, NULL);
	json_t *first = json_array_get(json_object_get(list.json, "sessions"), 0);
	assert_int_equal(list.status, 200);
	assert_string_equal(json_string_value(json_object_get(first, "id")), id);
	assert_string_equal(json_string_value(json_object_get(first, "language")), "python");
	AUTO(reply_release) struct reply stop = api_call("DELETE", path, NULL, NULL);
	assert_int_equal(stop.status, 204);
	AUTO(reply_release) struct reply gone = api_call("GET", path, NULL, NULL);
	assert_int_equal(gone.status, 404);
	assert_string_equal(text_of(&gone, "cause"), "no_session");
}

/* A forwarded request is only for sessions that this server has, and asks nobody. */
static void a_forwarded_request_is_not_forwarded(void **state)
{
	AUTO(freep) char *id = api_create(), *known = xasprintf("/v1/sessions/%s?brief=true", id);
	AUTO(reply_release) struct reply r = api_call("GET", known, "Husk-Forwarded: local\r\n", NULL);
	assert_int_equal(r.status, 200);
	assert_string_equal(text_of(&r, "language"), "python");
	assert_null(json_object_get(r.json, "runs"));
	AUTO(reply_release) struct reply other = api_call("GET", "/v1/sessions/aaaaaaaaaaaaaaaaaaaaaaaaaa?brief=true",
							  "Husk-Forwarded: local\r\n", NULL);
	assert_int_equal(other.status, 404);
	assert_string_equal(text_of(&other, "cause"), "no_session");
}

static void all_lists_every_conversation_of_the_tenant(void **state)
{
	AUTO(freep) char *id = api_create();
	AUTO(reply_release) struct reply all =
		api_call("GET", "/v1/sessions?all=true", "Husk-Conversation: other\r\n", NULL);
	json_t *one = json_array_get(json_object_get(all.json, "sessions"), 0);
	assert_int_equal(all.status, 200);
	assert_string_equal(json_string_value(json_object_get(one, "id")), id);
	assert_string_equal(json_string_value(json_object_get(one, "conversation")), "t");
}

static void labels_are_replaced(void **state)
{
	AUTO(reply_release) struct reply made =
		api_call("POST", "/v1/sessions", NULL, "{\"labels\": {\"team\": \"data\"}}");
	AUTO(freep) char *path = xasprintf("/v1/sessions/%s", text_of(&made, "id"));
	assert_string_equal(json_string_value(json_object_get(json_object_get(made.json, "labels"), "team")), "data");
	AUTO(reply_release) struct reply patched = api_call("PATCH", path, NULL, "{\"labels\": {\"stage\": \"test\"}}");
	assert_int_equal(patched.status, 200);
	AUTO(reply_release) struct reply now = api_call("GET", path, NULL, NULL);
	json_t *labels = json_object_get(now.json, "labels");
	assert_int_equal(json_object_size(labels), 1);
	assert_string_equal(json_string_value(json_object_get(labels, "stage")), "test");
}

static void conversations_are_separate(void **state)
{
	AUTO(freep) char *id = api_create();
	AUTO(reply_release) struct reply other = api_call("GET", "/v1/sessions", "Husk-Conversation: other\r\n", NULL);
	assert_int_equal(json_array_size(json_object_get(other.json, "sessions")), 0);
}

static void a_client_that_leaves_cancels_its_create(void **state)
{
	int fd = api_connect();
	api_send(fd, "POST /v1/sessions HTTP/1.1\r\nHost: husk\r\nContent-Length: 2\r\n\r\n{}");
	close(fd);
	AUTO(reply_release) struct reply r = api_call("GET", "/v1/sessions", NULL, NULL);
	assert_int_equal(json_array_size(json_object_get(r.json, "sessions")), 0);
}

/* Every operation has an id, a summary and an answer, and every reference points at a schema. */
static void the_description_is_complete(void **state)
{
	AUTO(reply_release) struct reply r = api_call("GET", "/v1/openapi.json", NULL, NULL);
	json_t *paths = json_object_get(r.json, "paths"), *path, *operation;
	const char *name, *method;
	assert_int_equal(r.status, 200);
	assert_true(json_object_size(paths) > 3);
	json_object_foreach(paths, name, path) {
		json_object_foreach(path, method, operation) {
			assert_non_null(json_object_get(operation, "operationId"));
			assert_non_null(json_object_get(operation, "summary"));
			assert_true(json_object_size(json_object_get(operation, "responses")) > 1);
		}
	}
}

static void the_caller_of_the_socket_may_do_everything(void **state)
{
	AUTO(reply_release) struct reply r = api_call("GET", "/v1/me", NULL, NULL);
	assert_string_equal(text_of(&r, "tenant"), "local");
	assert_int_equal(json_array_size(json_object_get(r.json, "scopes")), 13);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_bench_begin, api_bench_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(health_needs_nothing),
		TEST(an_unknown_route_is_a_problem_with_a_hint),
		TEST(a_wrong_method_names_the_right_ones),
		TEST(bad_bodies_are_refused),
		TEST(repeated_values_are_refused),
		TEST(another_type_of_body_is_refused),
		TEST(names_of_conversations_are_checked),
		TEST(names_of_keys_can_be_shown_on_terminals),
		TEST(a_tenant_with_many_conversations_closes_its_own),
		TEST(deep_bodies_are_refused),
		TEST(a_session_lives),
		TEST(a_forwarded_request_is_not_forwarded),
		TEST(all_lists_every_conversation_of_the_tenant),
		TEST(labels_are_replaced),
		TEST(conversations_are_separate),
		TEST(a_client_that_leaves_cancels_its_create),
		TEST(the_description_is_complete),
		TEST(the_caller_of_the_socket_may_do_everything),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
