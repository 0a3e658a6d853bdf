/* The counters of a server. */
#include "base/alloc.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

static void assert_has(const struct reply *r, const char *line)
{
	AUTO(freep) char *whole = xasprintf("\n%s\n", line);
	if (!strstr(r->body, whole))
		fail_msg("no line '%s' in:\n%s", line, r->body);
}

/* Every sample has a name that was introduced before, and a number. */
static void assert_valid(const char *text)
{
	AUTO(freep) char *copy = xstrdup(text);
	AUTO(freep) char *name = xstrdup("");
	char *state = NULL;
	for (char *line = strtok_r(copy, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		if (strncmp(line, "# TYPE ", 7) == 0) {
			free(name);
			name = xstrndup(line + 7, strcspn(line + 7, " "));
		} else if (*line != '#') {
			char *end;
			const char *value = strrchr(line, ' ');
			assert_int_equal(strncmp(line, name, strlen(name)), 0);
			assert_non_null(value);
			(void)strtod(value + 1, &end);
			assert_true(end > value + 1 && !*end);
		}
	}
}

static void runs_sessions_and_requests_are_counted(void **state)
{
	AUTO(freep) char *id = api_create();
	AUTO(freep) char *runs = xasprintf("/v1/sessions/%s/runs", id);
	AUTO(freep) char *session = xasprintf("/v1/sessions/%s", id);
	for (int i = 0; i < 3; i++) {
		AUTO(reply_release) struct reply r = api_call("POST", runs, "Prefer: wait=30\r\n", "{\"text\": \"1\"}");
		assert_int_equal(r.status, 200);
	}
	AUTO(reply_release) struct reply none = api_call("GET", "/v1/nothing", NULL, NULL);
	AUTO(reply_release) struct reply now = api_call("GET", "/metrics", NULL, NULL);
	assert_has(&now, "husk_runs_total{language=\"python\",kind=\"cell\",ending=\"ok\"} 3");
	assert_has(&now, "husk_run_seconds_count 3");
	assert_has(&now, "husk_create_seconds_count{how=\"cold\"} 1");
	assert_has(&now, "husk_sessions{state=\"idle\"} 1");
	assert_has(&now,
		   "husk_http_requests_total{route=\"/v1/sessions/{session}/runs\",method=\"POST\",status=\"200\"} 3");
	assert_has(&now, "husk_http_requests_total{route=\"unknown\",method=\"GET\",status=\"404\"} 1");
	assert_valid(now.body);
	assert_null(strstr(now.body, id));
	AUTO(reply_release) struct reply stop = api_call("DELETE", session, NULL, NULL);
	AUTO(reply_release) struct reply after = api_call("GET", "/metrics", NULL, NULL);
	assert_has(&after, "husk_sessions_ended_total{cause=\"stopped\"} 1");
	assert_has(&after, "husk_sessions{state=\"idle\"} 0");
}

static void failures_of_the_engine_are_counted(void **state)
{
	fake_fail(fake, FAKE_CREATE, 1, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "no");
	AUTO(reply_release) struct reply r = api_call("POST", "/v1/sessions", NULL, "{}");
	AUTO(reply_release) struct reply now = api_call("GET", "/metrics", NULL, NULL);
	assert_int_equal(r.status, 503);
	assert_has(&now, "husk_errors_total{of=\"engine\"} 1");
}

static void a_scope_is_needed(void **state)
{
	AUTO(freep) char *key = api_key("one", TENANT_LOCAL, SCOPES_DEFAULT);
	AUTO(freep) char *metrics = api_key("two", TENANT_LOCAL, SCOPE_METRICS);
	AUTO(reply_release) struct reply no = api_call_remote("GET", "/metrics", key, NULL);
	AUTO(reply_release) struct reply yes = api_call_remote("GET", "/metrics", metrics, NULL);
	assert_int_equal(no.status, 403);
	assert_int_equal(yes.status, 200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_bench_begin, api_bench_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(runs_sessions_and_requests_are_counted),
		TEST(failures_of_the_engine_are_counted),
		TEST(a_scope_is_needed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
