/* The warm pool on the fake engine: which containers are kept ready, which creates use them, and when they are
 * removed. */
#include "base/alloc.h"
#include "manager/manager.h"
#include "tests/fake-engine/fake-engine-private.h"
#include "tests/unit/manager-bench.h"
#include "tests/unit/unit.h"

/* Long enough to fill a pool, far too short for anything to become idle. */
#define SOON_MS 3000

static struct bench b;
static struct fake *fake;
static struct manager *manager;
static struct conversation *conversation;
static char *meminfo;

/* The results of a call. */
static struct {
	bool done;
	struct fail fail;
	char *session;
	uint64_t age, n;
	char states[200];
} got;

static void forget(void)
{
	fail_release(&got.fail);
	free(got.session);
	memset(&got, 0, sizeof(got));
}

static void set_memory(unsigned total_mb, unsigned available_mb)
{
	FILE *f = fopen(meminfo, "we");
	assert_non_null(f);
	fprintf(f, "MemTotal: %u kB\nMemFree: 1 kB\nMemAvailable: %u kB\n", total_mb * 1024, available_mb * 1024);
	fclose(f);
}

static struct manager *open_server(const char *thread, struct conversation **ret)
{
	struct manager *m = manager_new(b.loop, &b.config);
	*ret = conversation_open(m, &(struct conversation_spec){ .id = thread });
	return m;
}

static int start(const char *pool)
{
	fake = manager_bench_begin(&b);
	setenv("WARM_POOL", pool, 1);
	manager_bench_load(&b);
	meminfo = xasprintf("%s/meminfo", b.dir);
	set_memory(16000, 8000);
	b.config.meminfo = meminfo;
	manager = open_server("t", &conversation);
	return 0;
}

static int setup(void **state)
{
	return start("python:0-1");
}

static int setup_default(void **state)
{
	return start("");
}

static int setup_eager(void **state)
{
	return start("python:1,node:1-2");
}

static int setup_off(void **state)
{
	return start("off");
}

static int teardown(void **state)
{
	manager_free(manager);
	forget();
	manager_bench_end(&b, fake);
	free(take_ptr(meminfo));
	return 0;
}

static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	if (!result->session)
		return;
	got.session = xstrdup(result->session->id);
	got.age = result->session->age_seconds;
}

static struct op *start_create_of(const char *runtime, bool network)
{
	forget();
	return manager_create(
		conversation,
		&(struct create_request){ .runtime = runtime_find(runtime), .network = network, .on_done = on_created },
		&got.fail);
}

static void create_of(const char *runtime, bool network)
{
	assert_non_null(start_create_of(runtime, network));
	FAKE_UNTIL(fake, got.done);
}

static void create(void)
{
	create_of("python", /* network= */ true);
	if (got.fail.kind)
		fail_msg("%s", got.fail.message);
}

static void on_listed(void *ctx UNUSED, const struct listed_session *v, size_t n, const struct fail *f,
		      const struct fail *unsure UNUSED)
{
	assert_null(f);
	got.done = true;
	got.n = n;
	for (size_t i = 0; i < n; i++)
		snprintf(got.states + strlen(got.states), sizeof(got.states) - strlen(got.states), "%s ", v[i].state);
}

static void list(void)
{
	forget();
	manager_list_all(manager, &(struct list_request){ .on_done = on_listed }, &got.fail);
	FAKE_UNTIL(fake, got.done);
}

static void on_stopped_all(void *ctx UNUSED, size_t n, const struct fail *f)
{
	got.done = true;
	got.n = n;
	if (f)
		fail_copy(&got.fail, f);
}

/* The number of warm containers. */
static size_t warm_count(void)
{
	size_t n = 0;
	list_for_each(c, &fake->containers, struct fake_container, node)
		n += c->pid1 && !*c->pid1->session;
	return n;
}

static struct fake_container *warm_one(void)
{
	list_for_each(c, &fake->containers, struct fake_container, node)
		if (c->pid1 && !*c->pid1->session)
			return c;
	fail_msg("nothing is warm");
	return NULL;
}

static void wait_for_warm(size_t n)
{
	for (int i = 0; warm_count() != n && i < 40; i++)
		loop_skip(b.loop, SOON_MS / 2);
	FAKE_UNTIL(fake, warm_count() == n);
}

/* Checks that no warm container is started. */
static void stays_without_warm(void)
{
	loop_skip(b.loop, SOON_MS);
	loop_skip(b.loop, SOON_MS);
	assert_int_equal(warm_count(), 0);
}

/* --- taking ------------------------------------------------------------------------------------------------------ */

static void a_warm_container_is_started_after_the_first_session(void **state)
{
	conversation_wake(conversation);
	stays_without_warm();
	create();
	assert_int_equal(warm_count(), 0);
	wait_for_warm(1);
	const struct fake_container *warm = warm_one();
	AUTO(freep) char *name = xstrdup(warm->name);
	loop_skip(b.loop, 60000);
	size_t calls = fake_calls(fake, FAKE_CREATE);
	create();
	/* The container becomes a normal session: a new id, age 0, and the lease and lifetime from the settings. */
	assert_int_equal(fake_calls(fake, FAKE_CREATE), calls);
	warm = fake_find(fake, name);
	assert_string_equal(warm->pid1->session, got.session);
	assert_int_equal(warm->pid1->claims, 1);
	assert_int_equal(warm->pid1->lease, b.config.lease);
	assert_int_equal(warm->pid1->lifetime, b.config.max_lifetime);
	assert_int_equal(got.age, 0);
	/* Another warm container is started later. */
	assert_int_equal(warm_count(), 0);
	wait_for_warm(1);
	list();
	assert_string_equal(got.states, "running running warm ");
}

static void a_burst_of_creates_gets_three_warm_containers(void **state)
{
	create();
	wait_for_warm(3);
	size_t calls = fake_calls(fake, FAKE_CREATE);
	create();
	create();
	assert_int_equal(fake_calls(fake, FAKE_CREATE), calls);
	/* The burst lets the pool grow to two. Later one container is enough again. */
	wait_for_warm(2); /* CONTAINER_MAX_SESSIONS is 5 */
	loop_skip(b.loop, 6 * 60 * 1000);
	wait_for_warm(1);
}

static void with_little_memory_a_burst_gets_one_warm_container(void **state)
{
	set_memory(16000, 3900);
	create();
	wait_for_warm(1);
	loop_skip(b.loop, SOON_MS);
	loop_skip(b.loop, SOON_MS);
	assert_int_equal(warm_count(), 1);
	/* If a second create finds no warm container, the pool gets one more. */
	create();
	create();
	wait_for_warm(2);
}

/* evidence: warm-containers */
static void only_creates_with_the_same_options_are_served(void **state)
{
	create();
	wait_for_warm(1);
	create_of("python", /* network= */ false);
	assert_int_equal(warm_count(), 1);
	create_of("node", /* network= */ true);
	assert_int_equal(warm_count(), 1);
	assert_false(got.fail.kind);
	forget();
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "u" });
	struct create_request small = { .runtime = runtime_find("python"),
					.network = true,
					.limits = { .memory = b.config.memory_limit / 2 },
					.on_done = on_created };
	assert_non_null(manager_create(conversation, &small, &got.fail));
	FAKE_UNTIL(fake, got.done);
	assert_false(got.fail.kind);
	assert_int_equal(warm_count(), 1);
}

static void variables_come_with_the_claim(void **state)
{
	create();
	wait_for_warm(1);
	AUTO(freep) char *name = xstrdup(warm_one()->name);
	forget();
	static const struct env_var env[] = { { "A", "1" } };
	manager_create(conversation,
		       &(struct create_request){ .runtime = runtime_find("python"),
						 .network = true,
						 .env = env,
						 .n_env = 1,
						 .on_done = on_created },
		       &got.fail);
	FAKE_UNTIL(fake, got.done);
	assert_string_equal(fake_find(fake, name)->pid1->claim_env, "{\"A\":\"1\"}");
}

static void a_warm_container_that_still_starts_is_not_used(void **state)
{
	create();
	fake_hold(fake, FAKE_CREATE);
	loop_skip(b.loop, SOON_MS);
	assert_int_equal(fake_pending(fake, FAKE_CREATE), 1);
	start_create_of("python", /* network= */ true);
	FAKE_UNTIL(fake, fake_pending(fake, FAKE_CREATE) == 2);
	fake_let_go(fake, FAKE_CREATE);
	FAKE_UNTIL(fake, got.done);
	assert_false(got.fail.kind);
	wait_for_warm(1);
}

static void a_claimed_container_is_not_reused_after_a_cancel(void **state)
{
	create();
	wait_for_warm(1);
	op_cancel(start_create_of("python", /* network= */ true));
	FAKE_UNTIL(fake, warm_count() == 0 && fake_count(fake) == 1);
	assert_false(got.done);
	list();
	assert_string_equal(got.states, "running ");
}

static void on_stopped(void *ctx UNUSED, const struct fail *f)
{
	assert_null(f);
	got.done = true;
}

/* --- filling ----------------------------------------------------------------------------------------------------- */

static void the_configured_pool_starts_with_a_conversation(void **state)
{
	stays_without_warm();
	conversation_wake(conversation);
	wait_for_warm(2);
	loop_skip(b.loop, 60000);
	assert_int_equal(warm_count(), 2);
	/* If the pool runs short it grows, up to the limit. */
	create_of("node", /* network= */ true);
	create_of("node", /* network= */ true);
	wait_for_warm(3);
	loop_skip(b.loop, 60000);
	assert_int_equal(warm_count(), 2 + 1);
}

static void the_pool_can_be_switched_off(void **state)
{
	conversation_wake(conversation);
	create();
	stays_without_warm();
}

static void do_nothing(struct fake_container *c UNUSED, struct fake_call *call UNUSED)
{
}

static void on_ran(void *ctx UNUSED, const struct run_result *result UNUSED, const struct fail *f UNUSED)
{
}

static void runs_come_before_warm_containers(void **state)
{
	fake_on_call = do_nothing;
	create();
	struct run_request run = { .kind = RUN_CODE,
				   .session_id = got.session,
				   .text = "1",
				   .len = 1,
				   .timeout_seconds = 60,
				   .on_done = on_ran };
	assert_non_null(manager_run(conversation, &run, &got.fail));
	loop_skip(b.loop, SOON_MS);
	assert_int_equal(fake_calls(fake, FAKE_CREATE), 1);
	/* A long run does not block new warm containers forever. */
	loop_skip(b.loop, 10000);
	FAKE_UNTIL(fake, warm_count() == 1);
}

static void warm_containers_leave_slots_for_others(void **state)
{
	b.config.max_sessions = 2;
	create();
	create_of("node", /* network= */ true);
	AUTO(freep) char *id = take_ptr(got.session);
	stays_without_warm();
	list();
	assert_string_equal(got.states, "running running ");
	/* A slot that becomes free is noticed. */
	forget();
	struct stop_request stop = { .session_id = id, .on_done = on_stopped };
	assert_non_null(manager_stop(conversation, &stop, &got.fail));
	FAKE_UNTIL(fake, got.done);
	wait_for_warm(1);
}

static void a_failed_start_is_not_retried_at_once(void **state)
{
	create();
	fake_fail(fake, FAKE_CREATE, 3, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "no");
	size_t calls = fake_calls(fake, FAKE_CREATE);
	loop_skip(b.loop, SOON_MS);
	assert_int_equal(fake_calls(fake, FAKE_CREATE), calls + 1);
	/* There is no retry until the next session is created. */
	loop_skip(b.loop, 60000);
	assert_int_equal(fake_calls(fake, FAKE_CREATE), calls + 1);
	list();
	assert_string_equal(got.states, "running ");
}

/* --- going ------------------------------------------------------------------------------------------------------- */

static void a_session_displaces_a_warm_container(void **state)
{
	b.config.max_sessions = 2;
	create();
	wait_for_warm(1);
	/* The warm container does not fit this create, so it is removed. */
	create_of("node", /* network= */ true);
	assert_false(got.fail.kind);
	FAKE_UNTIL(fake, warm_count() == 0 && fake_count(fake) == 2);
	create_of("node", /* network= */ true);
	assert_int_equal(got.fail.kind, FAIL_LIMIT);
	assert_int_equal(fake_count(fake), 2);
}

static void a_claim_reuses_the_slot_of_its_warm_container(void **state)
{
	b.config.max_sessions = 2;
	create();
	wait_for_warm(1);
	size_t calls = fake_calls(fake, FAKE_CREATE);
	create();
	assert_int_equal(fake_calls(fake, FAKE_CREATE), calls);
	create_of("python", /* network= */ true);
	assert_int_equal(got.fail.kind, FAIL_LIMIT);
}

static void a_refused_create_keeps_the_warm_container(void **state)
{
	b.config.max_sessions_per_thread = 1;
	conversation_close(conversation);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "one", .max_sessions = 1 });
	create();
	wait_for_warm(1);
	create_of("python", /* network= */ true);
	assert_int_equal(got.fail.kind, FAIL_LIMIT);
	assert_int_equal(warm_count(), 1);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "two" });
	size_t calls = fake_calls(fake, FAKE_CREATE);
	create();
	assert_int_equal(fake_calls(fake, FAKE_CREATE), calls);
}

static void another_server_displaces_a_warm_container(void **state)
{
	b.config.max_sessions = 2;
	create();
	wait_for_warm(1);
	struct conversation *ours = conversation;
	struct manager *other = open_server("u", &conversation);
	create();
	FAKE_UNTIL(fake, warm_count() == 0 && fake_count(fake) == 2);
	conversation = ours;
	create_of("python", /* network= */ true);
	assert_int_equal(got.fail.kind, FAIL_LIMIT);
	manager_free(other);
}

/* The row was removed, but the engine has not reported the container's end. */
static void a_warm_container_without_a_row_is_not_used(void **state)
{
	create();
	wait_for_warm(1);
	AUTO(freep) char *name = xstrdup(warm_one()->name);
	AUTO(freep) char *state_dir = xasprintf("%s/husk", b.dir);
	struct bench other = { .loop = b.loop, .config = { .state_dir = state_dir }, .dir = b.dir };
	bench_sql(&other, "DELETE FROM sessions WHERE state = 'warm'");
	size_t calls = fake_calls(fake, FAKE_CREATE);
	create();
	assert_int_equal(fake_calls(fake, FAKE_CREATE), calls + 1);
	FAKE_UNTIL(fake, !fake_find(fake, name));
}

static void warm_containers_are_removed_when_memory_is_short(void **state)
{
	create();
	wait_for_warm(1);
	set_memory(16000, 1500);
	wait_for_warm(0);
	FAKE_UNTIL(fake, fake_count(fake) == 1);
	stays_without_warm();
	set_memory(16000, 1700);
	wait_for_warm(1);
}

static void unused_warm_containers_are_removed(void **state)
{
	create();
	wait_for_warm(1);
	loop_skip(b.loop, (b.config.idle_ttl + 60) * 1000);
	FAKE_UNTIL(fake, warm_count() == 0);
	stays_without_warm();
}

/* evidence: warm-containers */
static void a_dead_warm_container_is_not_used(void **state)
{
	create();
	wait_for_warm(1);
	fake_die(warm_one(), 137, /* oom= */ false);
	size_t calls = fake_calls(fake, FAKE_CREATE);
	create();
	assert_int_equal(fake_calls(fake, FAKE_CREATE), calls + 1);
	wait_for_warm(1);
	/* A container whose kernel has died is not used either, because PID 1 would report the death. */
	fake_kernel(warm_one(), "died");
	FAKE_UNTIL(fake, warm_count() == 0);
	list();
	assert_string_equal(got.states, "running running ");
}

static void stop_all_removes_warm_containers(void **state)
{
	create();
	wait_for_warm(1);
	forget();
	manager_stop_all(manager, &(struct stop_all_request){ .on_done = on_stopped_all }, &got.fail);
	FAKE_UNTIL(fake, got.done);
	assert_false(got.fail.kind);
	assert_int_equal(got.n, 1);
	FAKE_UNTIL(fake, fake_count(fake) == 0);
	stays_without_warm();
}

static void on_settled(void *ctx)
{
	*(bool *)ctx = true;
}

static void warm_containers_end_with_their_server(void **state)
{
	create();
	wait_for_warm(1);
	bool settled = false;
	manager_settle(manager, 1000, on_settled, &settled);
	FAKE_UNTIL(fake, settled);
	manager_free(manager);
	manager = NULL;
	assert_int_equal(fake_count(fake), 1);
	manager = open_server("t", &conversation);
	list();
	assert_string_equal(got.states, "left ");
}

static void a_server_may_end_while_a_warm_container_starts(void **state)
{
	create();
	fake_hold(fake, FAKE_CREATE);
	loop_skip(b.loop, SOON_MS);
	assert_int_equal(fake_pending(fake, FAKE_CREATE), 1);
	manager_free(manager);
	manager = NULL;
	assert_int_equal(fake_count(fake), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define TEST_WITH(setup, name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_warm_container_is_started_after_the_first_session),
		TEST_WITH(setup_default, a_burst_of_creates_gets_three_warm_containers),
		TEST_WITH(setup_default, with_little_memory_a_burst_gets_one_warm_container),
		TEST(only_creates_with_the_same_options_are_served),
		TEST(variables_come_with_the_claim),
		TEST(a_warm_container_that_still_starts_is_not_used),
		TEST(a_claimed_container_is_not_reused_after_a_cancel),
		TEST_WITH(setup_eager, the_configured_pool_starts_with_a_conversation),
		TEST_WITH(setup_off, the_pool_can_be_switched_off),
		TEST(runs_come_before_warm_containers),
		TEST(warm_containers_leave_slots_for_others),
		TEST(a_failed_start_is_not_retried_at_once),
		TEST(a_session_displaces_a_warm_container),
		TEST(a_claim_reuses_the_slot_of_its_warm_container),
		TEST(a_refused_create_keeps_the_warm_container),
		TEST(another_server_displaces_a_warm_container),
		TEST(a_warm_container_without_a_row_is_not_used),
		TEST(warm_containers_are_removed_when_memory_is_short),
		TEST(unused_warm_containers_are_removed),
		TEST(a_dead_warm_container_is_not_used),
		TEST(stop_all_removes_warm_containers),
		TEST(warm_containers_end_with_their_server),
		TEST(a_server_may_end_while_a_warm_container_starts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
