/* The manager on the fake engine, with a second process beside it: the last server's sessions, and a person's `husk stop`. */
#include "base/alloc.h"
#include "manager/manager.h"
#include "tests/unit/manager-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct fake *fake;
static struct manager *manager;
static struct conversation *conversation;

static struct {
	bool done, stopped;
	struct fail fail;
	char *session, *detail;
	size_t sessions;
} got;

static void forget(void)
{
	fail_release(&got.fail);
	free(got.session);
	free(got.detail);
	memset(&got, 0, sizeof(got));
}

static void open_server(void)
{
	manager = manager_new(b.loop, &b.config);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t" });
}

static int setup(void **state)
{
	fake = manager_bench_begin(&b);
	manager_bench_load(&b);
	open_server();
	return 0;
}

static int teardown(void **state)
{
	manager_free(manager);
	forget();
	manager_bench_end(&b, fake);
	return 0;
}

static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	got.session = result && result->session ? xstrdup(result->session->id) : NULL;
}

/* The caller owns the id. */
static char *create(void)
{
	forget();
	assert_non_null(manager_create(
		conversation, &(struct create_request){ .runtime = runtime_find("python"), .on_done = on_created },
		&got.fail));
	FAKE_UNTIL(fake, got.done);
	if (got.fail.kind)
		fail_msg("%s", got.fail.message);
	return take_ptr(got.session);
}

static void on_ran(void *ctx UNUSED, const struct run_result *result, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	got.detail = result && result->detail ? xstrdup(result->detail) : NULL;
}

static struct op *start_run(const char *id)
{
	struct run_request request = {
		.kind = RUN_CODE, .session_id = id, .text = "1", .len = 1, .timeout_seconds = 60, .on_done = on_ran
	};
	forget();
	return manager_run(conversation, &request, &got.fail);
}

static void count(void *ctx, const struct session_info *info UNUSED)
{
	++*(size_t *)ctx;
}

static void on_awaited(void *ctx UNUSED, bool complete)
{
	got.done = complete;
	conversation_each_session(conversation, count, &got.sessions);
}

static void a_list_of_sessions_waits_for_those_of_the_last_server(void **state)
{
	AUTO(freep) char *id = create();
	assert_false(conversation_is_adopting(conversation));
	manager_free(manager);
	open_server();
	conversation_wake(conversation);
	assert_true(conversation_is_adopting(conversation));
	forget();
	assert_non_null(manager_await(conversation, &(struct await_request){ .on_done = on_awaited }));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.sessions, 1);
	assert_false(conversation_is_adopting(conversation));
}

static void on_stopped_all(void *ctx UNUSED, size_t n, const struct fail *f)
{
	assert_null(f);
	assert_int_equal(n, 1);
	got.stopped = true;
}

static void do_nothing(struct fake_container *c UNUSED, struct fake_call *call UNUSED)
{
}

static void a_server_learns_that_a_person_stopped_its_session(void **state)
{
	AUTO(freep) char *id = create();
	fake_on_call = do_nothing;
	assert_non_null(start_run(id));
	FAKE_UNTIL(fake, fake_only(fake)->pid1->last_call);
	struct manager *person = manager_new(b.loop, &b.config);
	manager_stop_all(person, &(struct stop_all_request){ .on_done = on_stopped_all }, &got.fail);
	FAKE_UNTIL(fake, got.done && got.stopped);
	assert_string_equal(got.detail, "stopped by husk stop");
	assert_null(start_run(id));
	assert_int_equal(cause_of(&got.fail), CAUSE_STOPPED_BY_HAND);
	fake_on_call = NULL;
	manager_free(person);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_list_of_sessions_waits_for_those_of_the_last_server),
		TEST(a_server_learns_that_a_person_stopped_its_session),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
