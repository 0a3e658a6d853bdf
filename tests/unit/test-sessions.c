/* The manager on the fake engine: the life of a session, conversations, operations, and servers that follow each
 * other. */
#include "manager/model/token.h"
#include "tests/unit/sessions-rig.h"

/* --- life -------------------------------------------------------------------------------------------------------- */

static void a_session_is_created_used_and_stopped(void **state)
{
	AUTO(freep) char *id = create();
	const struct fake_container *c = fake_only(fake);
	assert_string_equal(c->pid1->session, id);
	assert_int_equal(c->pid1->lifetime, b.config.max_lifetime);
	assert_null(strstr(c->name, id));
	run(id);
	assert_false(got.fail.kind);
	assert_int_equal(got.ending, ENDING_OK);
	stop(id);
	assert_false(got.fail.kind);
	assert_int_equal(fake_count(fake), 0);
	run(id);
	assert_int_equal(got.fail.kind, FAIL_NOT_FOUND);
}

static void a_cancelled_create_leaves_no_container(void **state)
{
	fake_hold(fake, FAKE_CREATE);
	struct op *op = start_create();
	FAKE_UNTIL(fake, fake_pending(fake, FAKE_CREATE) == 1);
	op_cancel(op);
	fake_let_go(fake, FAKE_CREATE);
	FAKE_UNTIL(fake, fake_pending(fake, FAKE_CREATE) + fake_pending(fake, FAKE_REMOVE) + fake_count(fake) == 0);
	assert_false(got.done);
}

static void a_kernel_that_does_not_start_fails_the_create(void **state)
{
	fake_kernel_at_start = "starting";
	start_create();
	FAKE_UNTIL(fake, fake_count(fake) == 1 && fake_only(fake)->pid1->hellos && fake_stream(fake_only(fake)));
	loop_skip(b.loop, 600000);
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.fail.kind, FAIL_TIMEOUT);
	FAKE_UNTIL(fake, fake_count(fake) == 0);
}

static void a_create_over_the_limit_lists_the_sessions(void **state)
{
	conversation_close(conversation);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t", .max_sessions = 1 });
	AUTO(freep) char *id = create();
	start_create();
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.fail.kind, FAIL_LIMIT);
	assert_int_equal(got.active, 1);
	assert_int_equal(fake_count(fake), 1);
	stop(id);
	AUTO(freep) char *next = create();
	assert_non_null(next);
}

/* --- deaths ------------------------------------------------------------------------------------------------------ */

#define USERS 478

/* Adds rows of another server that take all users, or those with an even number. */
static void take_users(bool all)
{
	AUTO(buf_release) struct buf sql = { 0 };
	bool taken[USERS] = { 0 };
	unsigned left = all ? USERS : USERS / 2;
	for (unsigned i = 0; left; i++) {
		char name[32];
		snprintf(name, sizeof(name), "husk-other-%u", i);
		unsigned user = token_number(name, USERS);
		if (taken[user] || (!all && user % 2))
			continue;
		taken[user] = true;
		left--;
		buf_printf(
			&sql,
			"INSERT INTO sessions (id, thread, runtime, container, owner, owner_pid, fence, state, lease_until, created, "
			"used, ends, ended, busy) VALUES ('o%u', 'other', 'python', '%s', 'other', 1, 1, 'running', %llu, 0, 0, 0, 0, 0);",
			i, name, (unsigned long long)store_now_ms() + 3600000);
	}
	bench_sql(&b, buf_str(&sql));
}

/* Creates a session, stops it, and returns the number of its user. */
static unsigned user_of_another(void)
{
	AUTO(freep) char *id = create();
	unsigned user = token_number(fake_only(fake)->name, USERS);
	stop(id);
	return user;
}

static void make_store(void)
{
	b.config.max_sessions = 2 * USERS;
	b.config.max_active_threads = 2;
	(void)user_of_another();
}

static void each_session_of_a_store_has_its_own_user(void **state)
{
	make_store();
	take_users(/* all= */ false);
	for (int i = 0; i < 4; i++)
		assert_int_equal(user_of_another() % 2, 1);
}

static void when_all_users_are_taken_one_is_shared(void **state)
{
	make_store();
	take_users(/* all= */ true);
	(void)user_of_another();
}

static void an_oom_kill_is_reported_as_such(void **state)
{
	fake_on_call = do_nothing;
	AUTO(freep) char *id = create();
	start_run(id);
	FAKE_UNTIL(fake, fake_only(fake)->pid1->last_call);
	fake_die(fake_only(fake), 137, /* oom= */ true);
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_CONTAINER_DIED);
	run(id);
	assert_int_equal(got.fail.kind, FAIL_DIED);
	assert_int_equal(cause_of(&got.fail), CAUSE_OOM);
}

static void without_events_the_engine_is_inspected(void **state)
{
	fake_capabilities(fake)->feeds_events = false;
	fake_keep_ended(fake, true);
	AUTO(freep) char *id = create();
	fake_die(fake_only(fake), 139, /* oom= */ false);
	FAKE_UNTIL(fake, fake_count(fake) == 0);
	run(id);
	assert_int_equal(cause_of(&got.fail), CAUSE_EXITED);
	assert_non_null(strstr(got.fail.message, "SIGSEGV"));
	assert_int_equal(fake_calls(fake, FAKE_WATCH), 0);
}

static void a_broken_stream_loses_nothing(void **state)
{
	fake_on_call = do_nothing;
	AUTO(freep) char *id = create();
	start_run(id);
	FAKE_UNTIL(fake, fake_only(fake)->pid1->last_call);
	struct fake_container *c = fake_only(fake);
	fake_break(fake_stream(c), FAIL_ENGINE, CAUSE_NONE, "a cable");
	fake_call_end(c, fake_call_find(c, c->pid1->last_call), "ok");
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_OK);
	assert_int_equal(c->pid1->hellos, 2);
}

static void an_idle_session_ends(void **state)
{
	AUTO(freep) char *id = create();
	loop_skip(b.loop, (b.config.idle_ttl + 2 * b.config.gc_interval) * 1000);
	FAKE_UNTIL(fake, fake_count(fake) == 0);
	run(id);
	assert_int_equal(cause_of(&got.fail), CAUSE_IDLE);
}

/* --- conversations ----------------------------------------------------------------------------------------------- */

static void on_copied(void *ctx UNUSED, const struct copy_result *results UNUSED, size_t n UNUSED, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
}

static void count(void *ctx, const struct session_info *info UNUSED)
{
	++*(size_t *)ctx;
}

static size_t sessions_of(struct conversation *c)
{
	size_t n = 0;
	conversation_each_session(c, count, &n);
	return n;
}

static void a_conversation_cannot_touch_anothers_session(void **state)
{
	AUTO(freep) char *id = create();
	struct conversation *owner = conversation;
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "u" });
	assert_null(start_run(id));
	assert_int_equal(got.fail.kind, FAIL_FOREIGN);
	assert_int_equal(cause_of(&got.fail), CAUSE_OTHER_CONVERSATION);
	forget();
	assert_null(manager_stop(conversation, &(struct stop_request){ .session_id = id, .on_done = on_stopped },
				 &got.fail));
	assert_int_equal(got.fail.kind, FAIL_FOREIGN);
	forget();
	static const char *const paths[] = { "/workspace/x" };
	struct copy_request copy = { .session_id = id, .exports = paths, .n = 1, .on_done = on_copied };
	assert_null(manager_copy(conversation, &copy, &got.fail));
	assert_int_equal(got.fail.kind, FAIL_FOREIGN);
	/* Each conversation has its own sessions and does not see those of the other. */
	AUTO(freep) char *own = create();
	run(own);
	assert_int_equal(got.ending, ENDING_OK);
	assert_int_equal(sessions_of(owner), 1);
	assert_int_equal(sessions_of(conversation), 1);
	conversation = owner;
	run(id);
	assert_false(got.fail.kind);
	assert_int_equal(got.ending, ENDING_OK);
}

static void each_conversation_has_its_own_limit(void **state)
{
	conversation_close(conversation);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "one", .max_sessions = 1 });
	AUTO(freep) char *first = create();
	start_create();
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.fail.kind, FAIL_LIMIT);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "two", .max_sessions = 2 });
	AUTO(freep) char *second = create();
	AUTO(freep) char *third = create();
	assert_int_equal(fake_count(fake), 3);
}

static void a_closed_conversation_gets_no_results(void **state)
{
	fake_on_call = do_nothing;
	AUTO(freep) char *id = create();
	start_run(id);
	FAKE_UNTIL(fake, fake_only(fake)->pid1->last_call);
	struct fake_container *c = fake_only(fake);
	conversation = conversation_close(conversation);
	FAKE_UNTIL(fake, !fake_call_find(c, c->pid1->last_call));
	assert_false(got.done);
	/* The session stays until its conversation is opened again. */
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t" });
	fake_on_call = NULL;
	run(id);
	assert_int_equal(got.ending, ENDING_OK);
}

static void another_conversations_session_is_not_taken_over(void **state)
{
	AUTO(freep) char *id = create();
	manager_free(manager);
	manager = manager_new(b.loop, &b.config);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "u" });
	conversation_wake(conversation);
	run(id);
	assert_int_equal(got.fail.kind, FAIL_FOREIGN);
	assert_int_equal(fake_only(fake)->pid1->epoch, 1);
}

/* --- operations -------------------------------------------------------------------------------------------------- */

static void a_cancelled_run_is_interrupted(void **state)
{
	fake_on_call = do_nothing;
	AUTO(freep) char *id = create();
	struct op *op = start_run(id);
	FAKE_UNTIL(fake, fake_only(fake)->pid1->last_call);
	struct fake_container *c = fake_only(fake);
	op_cancel(op);
	/* The run ends as interrupted and is acknowledged; there is no report. */
	FAKE_UNTIL(fake, !fake_call_find(c, c->pid1->last_call));
	assert_false(got.done);
	fake_on_call = NULL;
	run(id);
	assert_int_equal(got.ending, ENDING_OK);
}

static bool stopped;

static void on_stopped_beside(void *ctx UNUSED, const struct fail *f)
{
	stopped = !f;
}

static void a_stop_ends_and_reports_running_cells(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	fake_on_call = do_nothing;
	AUTO(freep) char *id = create();
	start_run(id);
	FAKE_UNTIL(fake, fake_only(fake)->pid1->last_call);
	stopped = false;
	assert_non_null(manager_stop(conversation,
				     &(struct stop_request){ .session_id = id, .on_done = on_stopped_beside }, &f));
	FAKE_UNTIL(fake, got.done && stopped);
	assert_int_equal(got.ending, ENDING_INTERRUPTED);
	assert_int_equal(got.cause, CAUSE_STOPPED);
}

static void an_invalid_id_is_rejected_at_once(void **state)
{
	assert_null(start_run("../x"));
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_SESSION);
	/* A valid id is looked up first. */
	run("aaaaaaaaaaaaaaaaaaaaaaaaaa");
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_SESSION);
}

static void a_failed_create_frees_its_slot(void **state)
{
	conversation_close(conversation);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t", .max_sessions = 1 });
	fake_fail(fake, FAKE_CREATE, 1, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "no room");
	start_create();
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(cause_of(&got.fail), CAUSE_ENGINE_REFUSED);
	AUTO(freep) char *id = create();
	assert_int_equal(fake_count(fake), 1);
}

static void fail_install(struct fake_container *c, struct fake_call *call)
{
	fake_call_out(c, call, "no such package\n");
	fake_call_end(c, call, "error");
}

static void a_failed_install_fails_the_create(void **state)
{
	fake_on_call = fail_install;
	forget();
	assert_non_null(manager_create(conversation,
				       &(struct create_request){ .runtime = runtime_find("python"),
								 .dependencies = &(struct dependency){ "nowhere", "1" },
								 .n_dependencies = 1,
								 .on_done = on_created },
				       &got.fail));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.fail.kind, FAIL_INSTALL);
	assert_int_equal(cause_of(&got.fail), CAUSE_INSTALL_FAILED);
	assert_non_null(strstr(got.fail.message, "no such package"));
	FAKE_UNTIL(fake, fake_count(fake) == 0);
}

/* --- the next server --------------------------------------------------------------------------------------------- */

static void runs_of_the_last_server_are_reported_once(void **state)
{
	fake_on_call = do_nothing;
	AUTO(freep) char *id = create();
	start_run(id);
	FAKE_UNTIL(fake, fake_only(fake)->pid1->last_call);
	struct fake_container *c = fake_only(fake);
	manager_free(manager);
	fake_call_end(c, fake_call_find(c, c->pid1->last_call), "ok");
	fake_on_call = NULL;
	open_server();
	run(id);
	assert_int_equal(got.earlier, 1);
	run(id);
	assert_int_equal(got.earlier, 0);
}

static void only_one_of_two_servers_takes_a_session_over(void **state)
{
	AUTO(freep) char *id = create();
	manager_free(manager);
	open_server();
	struct manager *other = manager_new(b.loop, &b.config);
	struct conversation *rival = conversation_open(other, &(struct conversation_spec){ .id = "t" });
	run(id);
	assert_int_equal(got.ending, ENDING_OK);
	assert_false(got.fail.kind);
	struct conversation *winner = conversation;
	conversation = rival;
	run(id);
	assert_int_equal(got.fail.kind, FAIL_BUSY);
	assert_int_equal(cause_of(&got.fail), CAUSE_OTHER_SERVER);
	conversation = winner;
	run(id);
	assert_int_equal(got.ending, ENDING_OK);
	manager_free(other);
}

static void a_session_outlives_its_server(void **state)
{
	AUTO(freep) char *id = create();
	manager_free(manager);
	assert_int_equal(fake_count(fake), 1);
	open_server();
	run(id);
	if (got.fail.kind)
		fail_msg("%s", got.fail.message);
	assert_int_equal(got.ending, ENDING_OK);
	assert_int_equal(fake_only(fake)->pid1->epoch, 2);
}

static void taking_a_session_over_does_not_count_as_use(void **state)
{
	AUTO(freep) char *id = create();
	loop_skip(b.loop, (b.config.idle_ttl - b.config.gc_interval) * 1000);
	manager_free(manager);
	open_server();
	conversation_wake(conversation);
	FAKE_UNTIL(fake, sessions_of(conversation) == 1);
	loop_skip(b.loop, 3 * b.config.gc_interval * 1000);
	FAKE_UNTIL(fake, fake_count(fake) == 0);
	run(id);
	assert_int_equal(cause_of(&got.fail), CAUSE_IDLE);
}

static bool try_limits(struct limits_wanted wanted)
{
	forget();
	if (manager_create(conversation,
			   &(struct create_request){
				   .runtime = runtime_find("python"), .limits = wanted, .on_done = on_created },
			   &got.fail))
		FAKE_UNTIL(fake, got.done);
	return got.session != NULL;
}

static void take_limits(void *ctx, const struct session_info *info)
{
	*(struct limits *)ctx = info->limits;
}

static void on_listed(void *ctx, const struct listed_session *v, size_t n, const struct fail *f UNUSED,
		      const struct fail *unsure UNUSED)
{
	assert_int_equal(n, 1);
	*(struct limits *)ctx = v[0].limits;
	got.done = true;
}

static void a_session_keeps_its_own_limits(void **state)
{
	struct limits told = { 0 };
	assert_true(try_limits((struct limits_wanted){ .memory = 3ull << 30, .cpus = 1.5, .disk = 8ull << 30 }));
	AUTO(freep) char *id = take_ptr(got.session);
	const struct container_spec *spec = &fake_only(fake)->spec;
	assert_true(spec->memory == 3ull << 30 && spec->cpu_quota == 150000 && spec->home == 8ull << 30);
	assert_true(spec->tmpfs == 300u << 20 && spec->pids == b.config.pids_limit);
	conversation_each_session(conversation, take_limits, &told);
	assert_true(told.memory == 3ull << 30 && told.cpu_quota == 150000 && told.home == 8ull << 30);
	/* Even if the next server has other settings. */
	manager_free(manager);
	b.config.memory_limit = 1ull << 30;
	b.config.cpu_quota = 100000;
	b.config.home_size = 1ull << 30;
	told = (struct limits){ 0 };
	open_server();
	run(id);
	assert_int_equal(got.ending, ENDING_OK);
	conversation_each_session(conversation, take_limits, &told);
	assert_true(told.memory == 3ull << 30 && told.cpu_quota == 150000 && told.home == 8ull << 30);
	forget();
	told = (struct limits){ 0 };
	AUTO(fail_release) struct fail f = { 0 };
	assert_non_null(manager_list_all(manager, &(struct list_request){ .on_done = on_listed, .ctx = &told }, &f));
	FAKE_UNTIL(fake, got.done);
	assert_true(told.memory == 3ull << 30 && told.tmpfs == 300u << 20);
}

/* The fake's machine has 6 GiB and 2 CPUs. */
static void limits_over_the_operators_start_nothing(void **state)
{
	assert_false(try_limits((struct limits_wanted){ .memory = 64ull << 30 }));
	assert_int_equal(cause_of(&got.fail), CAUSE_TOO_MUCH);
	assert_int_equal(fake_calls(fake, FAKE_QUERY), 0);
	assert_false(try_limits((struct limits_wanted){ .memory = 4ull << 30 }));
	assert_int_equal(got.fail.kind, FAIL_INVALID);
	assert_non_null(strstr(got.fail.message, "memory: 4g is more than a session may have here, 3g"));
	assert_false(try_limits((struct limits_wanted){ .cpus = 3 }));
	assert_non_null(strstr(got.fail.message, "cpus: 3 is more than a session may have here, 2"));
	fake_fail(fake, FAKE_QUERY, 1, FAIL_ENGINE, CAUSE_NO_ENGINE, "nobody is there");
	assert_false(try_limits((struct limits_wanted){ .memory = 3ull << 30 }));
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_ENGINE);
	assert_int_equal(fake_count(fake), 0);
	assert_true(try_limits((struct limits_wanted){ .memory = 3ull << 30 }));
}

static void a_create_can_be_cancelled_during_the_machine_query(void **state)
{
	fake_hold(fake, FAKE_QUERY);
	forget();
	struct op *op = manager_create(conversation,
				       &(struct create_request){ .runtime = runtime_find("python"),
								 .limits = { .memory = 3ull << 30 },
								 .on_done = on_created },
				       &got.fail);
	FAKE_UNTIL(fake, fake_pending(fake, FAKE_QUERY) == 1);
	op_cancel(op);
	assert_int_equal(fake_pending(fake, FAKE_QUERY), 0);
	fake_let_go(fake, FAKE_QUERY);
	assert_false(got.done);
	assert_int_equal(fake_count(fake), 0);
}

static void a_death_between_two_servers_is_reported_as_unwatched(void **state)
{
	AUTO(freep) char *id = create();
	manager_free(manager);
	fake_vanish(fake_only(fake));
	open_server();
	run(id);
	assert_int_equal(got.fail.kind, FAIL_DIED);
	assert_int_equal(cause_of(&got.fail), CAUSE_UNWATCHED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_session_is_created_used_and_stopped),
		TEST(a_cancelled_create_leaves_no_container),
		TEST(a_kernel_that_does_not_start_fails_the_create),
		TEST(a_create_over_the_limit_lists_the_sessions),
		TEST(each_session_of_a_store_has_its_own_user),
		TEST(when_all_users_are_taken_one_is_shared),
		TEST(an_oom_kill_is_reported_as_such),
		TEST(without_events_the_engine_is_inspected),
		TEST(a_broken_stream_loses_nothing),
		TEST(an_idle_session_ends),
		TEST(a_conversation_cannot_touch_anothers_session),
		TEST(each_conversation_has_its_own_limit),
		TEST(a_closed_conversation_gets_no_results),
		TEST(another_conversations_session_is_not_taken_over),
		TEST(a_cancelled_run_is_interrupted),
		TEST(a_stop_ends_and_reports_running_cells),
		TEST(an_invalid_id_is_rejected_at_once),
		TEST(a_failed_create_frees_its_slot),
		TEST(a_failed_install_fails_the_create),
		TEST(runs_of_the_last_server_are_reported_once),
		TEST(only_one_of_two_servers_takes_a_session_over),
		TEST(a_session_outlives_its_server),
		TEST(taking_a_session_over_does_not_count_as_use),
		TEST(a_session_keeps_its_own_limits),
		TEST(limits_over_the_operators_start_nothing),
		TEST(a_create_can_be_cancelled_during_the_machine_query),
		TEST(a_death_between_two_servers_is_reported_as_unwatched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
