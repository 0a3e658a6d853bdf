/* The manager on the fake engine, with a second process beside it: the last server's sessions, and a person's `husk stop`. */
#include "tests/unit/sessions-rig.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_list_of_sessions_waits_for_those_of_the_last_server),
		TEST(a_server_learns_that_a_person_stopped_its_session),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
