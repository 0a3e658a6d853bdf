/* Requests with an Idempotency-Key. */
#include "base/alloc.h"
#include "manager/registry/answer-budget.h"
#include "manager/registry/registry.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

#define NAME "Idempotency-Key: one\r\n"
#define PYTHON "{\"language\": \"python\"}"

static size_t sessions(void)
{
	AUTO(reply_release) struct reply r = api_call("GET", "/v1/sessions", NULL, NULL);
	return json_array_size(json_object_get(r.json, "sessions"));
}

static void a_repeated_request_gets_the_first_answer(void **state)
{
	AUTO(reply_release) struct reply first = api_call("POST", "/v1/sessions", NAME, PYTHON);
	AUTO(reply_release) struct reply second = api_call("POST", "/v1/sessions", NAME, PYTHON);
	AUTO(freep) char *location = reply_field(&first, "Location"), *again = reply_field(&second, "Location");
	AUTO(freep) char *replayed = reply_field(&second, "Idempotent-Replayed");
	assert_int_equal(first.status, 201);
	assert_int_equal(second.status, 201);
	assert_string_equal(first.body, second.body);
	assert_string_equal(location, again);
	assert_string_equal(replayed, "true");
	assert_int_equal(sessions(), 1);
}

static void another_request_with_the_same_name_is_refused(void **state)
{
	AUTO(reply_release) struct reply first = api_call("POST", "/v1/sessions", NAME, PYTHON);
	AUTO(reply_release) struct reply body = api_call("POST", "/v1/sessions", NAME, "{}");
	AUTO(reply_release) struct reply elsewhere =
		api_call("POST", "/v1/sessions", NAME "Husk-Conversation: other\r\n", PYTHON);
	AUTO(reply_release) struct reply bad = api_call("POST", "/v1/sessions", "Idempotency-Key: a b\r\n", PYTHON);
	assert_int_equal(body.status, 422);
	assert_int_equal(elsewhere.status, 422);
	assert_int_equal(bad.status, 400);
	assert_int_equal(sessions(), 1);
}

static void another_key_has_names_of_its_own(void **state)
{
	AUTO(freep) char *key = api_key("k", "acme", SCOPES_DEFAULT);
	AUTO(freep) char *fields = xasprintf(NAME "%s", key);
	AUTO(reply_release) struct reply mine = api_call("POST", "/v1/sessions", NAME, PYTHON);
	AUTO(reply_release) struct reply theirs = api_call_remote("POST", "/v1/sessions", fields, PYTHON);
	assert_int_equal(theirs.status, 201);
	assert_string_not_equal(mine.body, theirs.body);
}

static bool may_store_more(struct answer_budget **budget, const char *tenant)
{
	AUTO(fail_release) struct fail f = { 0 };
	bool granted = answer_budget_take(budget, tenant, &f) == 0;
	assert_int_equal(cause_of(&f), granted ? CAUSE_NONE : CAUSE_LIMIT_TENANT);
	return granted;
}

static void a_tenant_stores_a_limited_number_of_answers(void **state)
{
	struct answer_budget *budget = NULL;
	for (int i = 0; i < ANSWERS_OF_TENANT_MAX; i++)
		assert_true(may_store_more(&budget, "acme"));
	assert_false(may_store_more(&budget, "acme"));
	assert_true(may_store_more(&budget, "other"));
	for (int i = 0; i <= ANSWERS_OF_TENANT_MAX; i++)
		assert_true(may_store_more(&budget, TENANT_LOCAL));
	loop_skip(b.loop, 24 * 3600 * 1000ull);
	assert_true(may_store_more(&budget, "acme"));
	answer_budget_free(budget);
}

static void a_tenant_stores_a_limited_amount_of_answers(void **state)
{
	AUTO(freep) char *key = api_key("k", "acme", SCOPES_DEFAULT);
	AUTO(freep) char *fields = xasprintf(NAME "%s", key);
	AUTO(freep) char *more = xasprintf("Idempotency-Key: two\r\n%s", key);
	AUTO(reply_release) struct reply first = api_call_remote("POST", "/v1/sessions", fields, PYTHON);
	answer_budget_add(&manager->registry.answers, "acme", ANSWER_BYTES_OF_TENANT_MAX);
	AUTO(reply_release) struct reply refused = api_call_remote("POST", "/v1/sessions", more, PYTHON);
	AUTO(reply_release) struct reply again = api_call_remote("POST", "/v1/sessions", fields, PYTHON);
	AUTO(reply_release) struct reply without = api_call_remote("POST", "/v1/sessions", key, PYTHON);
	AUTO(reply_release) struct reply mine = api_call("POST", "/v1/sessions", NAME, PYTHON);
	assert_int_equal(first.status, 201);
	assert_int_equal(refused.status, 429);
	assert_non_null(strstr(refused.body, "256 MiB"));
	assert_string_equal(again.body, first.body);
	assert_int_equal(without.status, 201);
	assert_int_equal(mine.status, 201);
	manager->registry.answers = answer_budget_free(manager->registry.answers);
	AUTO(reply_release) struct reply later = api_call_remote("POST", "/v1/sessions", more, PYTHON);
	assert_int_equal(later.status, 201);
}

static void a_failed_request_may_be_repeated(void **state)
{
	fake_fail(fake, FAKE_CREATE, 1, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "no");
	AUTO(reply_release) struct reply first = api_call("POST", "/v1/sessions", NAME, PYTHON);
	AUTO(reply_release) struct reply second = api_call("POST", "/v1/sessions", NAME, PYTHON);
	assert_int_equal(first.status, 503);
	assert_int_equal(second.status, 201);
}

static void a_request_under_way_is_a_conflict(void **state)
{
	fake_hold(fake, FAKE_CREATE);
	int fd = api_connect();
	api_send(fd, "POST /v1/sessions HTTP/1.1\r\nHost: husk\r\n" NAME
		     "Content-Length: 22\r\nContent-Type: application/json\r\n\r\n" PYTHON);
	AUTO(reply_release) struct reply health = api_call("GET", "/v1/sessions", NULL, NULL);
	AUTO(reply_release) struct reply second = api_call("POST", "/v1/sessions", NAME, PYTHON);
	AUTO(freep) char *retry = reply_field(&second, "Retry-After");
	assert_int_equal(second.status, 409);
	assert_non_null(retry);
	fake_let_go(fake, FAKE_CREATE);
	AUTO(buf_release) struct buf got = { 0 };
	api_read_until(fd, &got, "\"id\"");
	close(fd);
	AUTO(reply_release) struct reply third = api_call("POST", "/v1/sessions", NAME, PYTHON);
	assert_int_equal(third.status, 201);
	assert_int_equal(sessions(), 1);
}

/* A create is cancelled with its client, so it may be repeated. */
static void a_cancelled_request_may_be_repeated(void **state)
{
	fake_hold(fake, FAKE_CREATE);
	int fd = api_connect();
	api_send(fd, "POST /v1/sessions HTTP/1.1\r\nHost: husk\r\n" NAME
		     "Content-Length: 22\r\nContent-Type: application/json\r\n\r\n" PYTHON);
	AUTO(reply_release) struct reply health = api_call("GET", "/v1/sessions", NULL, NULL);
	close(fd);
	fake_let_go(fake, FAKE_CREATE);
	AUTO(reply_release) struct reply other = api_call("GET", "/v1/sessions", NULL, NULL);
	AUTO(reply_release) struct reply again = api_call("POST", "/v1/sessions", NAME, PYTHON);
	assert_int_equal(again.status, 201);
}

static void hold(struct fake_container *c UNUSED, struct fake_call *run UNUSED)
{
}

static void a_run_whose_client_left_is_not_started_again(void **state)
{
	AUTO(freep) char *session = api_create();
	AUTO(freep) char *path = xasprintf("/v1/sessions/%s/runs", session);
	AUTO(freep) char *request = xasprintf("POST %s HTTP/1.1\r\nHost: husk\r\n" NAME
					      "Prefer: wait=60\r\nContent-Type: application/json\r\n"
					      "Content-Length: 13\r\n\r\n{\"text\": \"1\"}",
					      path);
	fake_on_call = hold;
	int fd = api_connect();
	api_send(fd, request);
	FAKE_UNTIL(fake, fake_call_find(fake_only(fake), 1));
	AUTO(reply_release) struct reply health = api_call("GET", "/v1/sessions", NULL, NULL);
	close(fd);
	AUTO(reply_release) struct reply again = api_call("POST", path, NAME, "{\"text\": \"1\"}");
	fake_on_call = NULL;
	assert_int_equal(again.status, 202);
	assert_int_equal(json_integer_value(json_object_get(again.json, "run")), 1);
	assert_null(fake_call_find(fake_only(fake), 2));
}

/* The server may be killed before the answer is stored. A repeated request then only names the run. */
static void the_end_of_a_run_is_kept_for_a_repeated_request(void **state)
{
	AUTO(freep) char *session = api_create();
	AUTO(freep) char *runs = xasprintf("/v1/sessions/%s/runs", session);
	AUTO(freep) char *first = xasprintf("%s/1", runs), *second = xasprintf("%s/2", runs);
	AUTO(reply_release) struct reply kept = api_call("POST", runs, NAME "Prefer: wait=60\r\n", "{\"text\": \"1\"}");
	AUTO(reply_release) struct reply stream =
		api_call("POST", runs, "Idempotency-Key: two\r\nAccept: text/event-stream\r\n", "{\"text\": \"2\"}");
	AUTO(reply_release) struct reply fetched = api_call("POST", runs, "Prefer: wait=60\r\n", "{\"text\": \"3\"}");
	assert_int_equal(kept.status, 200);
	assert_non_null(strstr(stream.body, "run.ended"));
	FAKE_UNTIL(fake, !fake_call_find(fake_only(fake), 3));
	assert_non_null(fake_call_find(fake_only(fake), 1));
	assert_non_null(fake_call_find(fake_only(fake), 2));
	api_bench_restart();
	for (const char *path = first; path; path = path == first ? second : NULL) {
		AUTO(reply_release) struct reply end = api_call("GET", path, "Accept: text/event-stream\r\n", NULL);
		AUTO(reply_release) struct reply run = api_call("GET", path, NULL, NULL);
		assert_int_equal(run.status, 200);
		assert_non_null(strstr(run.body, "\"ending\":\"ok\""));
	}
}

/* An answer to a prompt must not be typed twice. */
static void an_interrupt_can_be_repeated(void **state)
{
	AUTO(freep) char *session = api_create();
	AUTO(freep) char *runs = xasprintf("/v1/sessions/%s/runs", session);
	AUTO(freep) char *interrupt = xasprintf("%s/1/interrupt", runs);
	fake_on_call = hold;
	AUTO(reply_release) struct reply run = api_call("POST", runs, NULL, "{\"text\": \"1\"}");
	AUTO(reply_release) struct reply first = api_call("POST", interrupt, NAME, NULL);
	AUTO(reply_release) struct reply second = api_call("POST", interrupt, NAME, NULL);
	AUTO(freep) char *replayed = reply_field(&second, "Idempotent-Replayed");
	fake_on_call = NULL;
	assert_int_equal(first.status, 204);
	assert_int_equal(second.status, 204);
	assert_non_null(replayed);
}

static void answers_survive_a_killed_server(void **state)
{
	AUTO(reply_release) struct reply first = api_call("POST", "/v1/sessions", NAME, PYTHON);
	api_bench_restart();
	AUTO(reply_release) struct reply second = api_call("POST", "/v1/sessions", NAME, PYTHON);
	assert_int_equal(second.status, 201);
	assert_string_equal(first.body, second.body);
}

/* The answer is the only copy of the key, so a client that lost it gets it from the next server. */
static void a_lost_key_is_sent_again(void **state)
{
	static const char body[] = "{\"name\": \"laptop\"}";
	AUTO(reply_release) struct reply first = api_call("POST", "/v1/keys", NAME, body);
	api_bench_restart();
	AUTO(reply_release) struct reply second = api_call("POST", "/v1/keys", NAME, body);
	AUTO(reply_release) struct reply other = api_call("POST", "/v1/keys", NAME, "{\"name\": \"desk\"}");
	AUTO(reply_release) struct reply list = api_call("GET", "/v1/keys", NULL, NULL);
	assert_int_equal(first.status, 201);
	assert_int_equal(second.status, 201);
	assert_string_equal(first.body, second.body);
	assert_non_null(strstr(second.body, "\"key\":\"husk_"));
	assert_int_equal(other.status, 422);
	assert_int_equal(json_array_size(json_object_get(list.json, "keys")), 1);
}

#define FORM(boundary, content)                                                                                        \
	"--" boundary "\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\n\r\n" content         \
	"\r\n--" boundary "--\r\n"
#define FORM_TYPE(boundary) NAME "Content-Type: multipart/form-data; boundary=" boundary "\r\n"

static size_t exports(void)
{
	AUTO(reply_release) struct reply r = api_call("GET", "/v1/exports", "Husk-Conversation: t\r\n", NULL);
	return json_array_size(json_object_get(r.json, "exports"));
}

/* A client that sends a form again chooses a new boundary. */
static void an_upload_is_not_stored_twice(void **state)
{
	static const char path[] = "/threads/t/files/upload";
	AUTO(reply_release) struct reply first = api_call("POST", path, FORM_TYPE("XX"), FORM("XX", "one"));
	api_bench_restart();
	AUTO(reply_release) struct reply second = api_call("POST", path, FORM_TYPE("YY"), FORM("YY", "one"));
	AUTO(reply_release) struct reply other = api_call("POST", path, FORM_TYPE("XX"), FORM("XX", "two"));
	assert_int_equal(first.status, 200);
	assert_int_equal(second.status, 200);
	assert_string_equal(first.body, second.body);
	assert_int_equal(other.status, 422);
	assert_int_equal(exports(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_bench_begin, api_bench_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_repeated_request_gets_the_first_answer),
		TEST(another_request_with_the_same_name_is_refused),
		TEST(another_key_has_names_of_its_own),
		TEST(a_tenant_stores_a_limited_number_of_answers),
		TEST(a_tenant_stores_a_limited_amount_of_answers),
		TEST(a_failed_request_may_be_repeated),
		TEST(a_request_under_way_is_a_conflict),
		TEST(a_cancelled_request_may_be_repeated),
		TEST(a_run_whose_client_left_is_not_started_again),
		TEST(the_end_of_a_run_is_kept_for_a_repeated_request),
		TEST(an_interrupt_can_be_repeated),
		TEST(answers_survive_a_killed_server),
		TEST(a_lost_key_is_sent_again),
		TEST(an_upload_is_not_stored_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
