/* manager/registry/gc on the fake engine: what it removes, and what it never touches. */
#include "manager/registry/gc.h"

#include <time.h>

#include "base/alloc.h"
#include "manager/model/token.h"
#include "tests/fake-engine/fake-pid1.h"
#include "tests/unit/store-bench.h"
#include "tests/unit/unit.h"

#define OLD 1 /* seconds since the epoch */

static struct bench b;
static struct answer a;
static struct fake *fake;
static struct engine *engine;
static struct gc *gc;
static bool done;
static struct fail failure;
static size_t removed, sessions, exports;

static int setup(void **state)
{
	bench_init(&b);
	b.config.orphan_min_age = 300;
	b.config.lease = 30;
	fake = fake_new(b.loop, &fake_pid1_script);
	engine = engine_open(FAKE_NAME, &(struct engine_options){ .loop = b.loop }, &failure);
	ask_identify(&b, &a);
	return a.fail.kind ? -1 : 0;
}

static int teardown(void **state)
{
	gc = gc_free(gc);
	engine->ops->free(engine);
	fake_free(fake);
	answer_release(&a);
	fail_release(&failure);
	bench_release(&b);
	return 0;
}

static void on_done(void *ctx UNUSED, const struct gc_report *report, const struct fail *f)
{
	assert_false(done);
	done = true;
	removed = report->containers.n;
	sessions = report->sessions;
	exports = report->exports;
	fail_release(&failure);
	if (f)
		fail_copy(&failure, f);
}

static void start(void)
{
	done = false;
	gc = gc_free(gc);
	gc = gc_start(&(struct gc_spec){ .loop = b.loop,
					 .config = &b.config,
					 .engine = engine,
					 .store = b.store,
					 .self = "this-server",
					 .on_done = on_done });
	assert_false(done);
}

static void collect(void)
{
	start();
	FAKE_UNTIL(fake, done);
}

/* A row of an unknown server `owner`, whose lease ends at this time. */
static void add_row(const char *id, const char *container, const char *owner, enum row_state state,
		    uint64_t lease_until)
{
	struct session_record row = {
		.engine = FAKE_NAME,
		.id = id,
		.thread = "t",
		.runtime = "python",
		.container = container,
		.owner = owner,
		.owner_host = "elsewhere boot",
		.owner_pid = 1,
		.epoch = 1,
		.state = state,
		.lease_until = lease_until,
		.created = store_now_ms(),
	};
	ask_claim(&b, &a, &row, &(struct claim_limits){ 99, 99, 99 });
	assert_false(a.fail.kind);
}

static enum row_state state_of(const char *id)
{
	ask_session(&b, &a, id);
	assert_int_equal(a.n, 1);
	return a.sessions[0].state;
}

/* --- containers -------------------------------------------------------------------------------------------------- */

static void ended_containers_are_removed_when_old(void **state)
{
	const char *store = store_id(b.store);
	fake_add(fake, "husk-old", store, "o", /* running= */ false, OLD);
	fake_add(fake, "husk-young", store, "o", /* running= */ false, (uint64_t)time(NULL));
	fake_add(fake, "husk-runs", store, "o", /* running= */ true, OLD);
	fake_add(fake, "husk-foreign", "another-store", "o", /* running= */ false, OLD);
	collect();
	assert_false(failure.kind);
	assert_int_equal(removed, 1);
	assert_null(fake_find(fake, "husk-old"));
	assert_int_equal(fake_count(fake), 3);
	assert_int_equal(fake_calls(fake, FAKE_PRUNE), 1);
}

static void a_failed_removal_does_not_stop_the_others(void **state)
{
	fake_add(fake, "husk-1", store_id(b.store), "o", /* running= */ false, OLD);
	fake_add(fake, "husk-2", store_id(b.store), "o", /* running= */ false, OLD);
	fake_fail(fake, FAKE_REMOVE_ENDED, 1, FAIL_ENGINE, CAUSE_ENGINE_REFUSED, "busy");
	collect();
	assert_int_equal(cause_of(&failure), CAUSE_ENGINE_REFUSED);
	assert_int_equal(removed, 1);
	assert_int_equal(fake_count(fake), 1);
	collect();
	assert_false(failure.kind);
	assert_int_equal(fake_count(fake), 0);
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static void a_session_without_container_and_server_has_ended(void **state)
{
	add_row("gone", "husk-gone", "dead-server", ROW_RUNNING, 1);
	add_row("there", "husk-there", "dead-server", ROW_RUNNING, 1);
	add_row("half", "husk-half", "dead-server", ROW_STARTING, 1);
	add_row("mine", "husk-mine", "this-server", ROW_RUNNING, 1);
	add_row("alive", "husk-alive", "other-server", ROW_RUNNING, store_now_ms() + 600000);
	fake_add(fake, "husk-there", store_id(b.store), "dead-server", /* running= */ true, OLD);
	collect();
	assert_false(failure.kind);
	assert_int_equal(sessions, 2);
	assert_int_equal(state_of("gone"), ROW_ENDED);
	assert_int_equal(state_of("half"), ROW_ENDED);
	assert_int_equal(state_of("there"), ROW_RUNNING);
	assert_int_equal(state_of("mine"), ROW_RUNNING);
	assert_int_equal(state_of("alive"), ROW_RUNNING);
}

static void without_an_engine_no_session_counts_as_gone(void **state)
{
	add_row("gone", "husk-gone", "dead-server", ROW_RUNNING, 1);
	fake_go_down(fake);
	collect();
	assert_int_equal(cause_of(&failure), CAUSE_NO_ENGINE);
	assert_int_equal(sessions, 0);
	assert_int_equal(state_of("gone"), ROW_RUNNING);
}

static void a_round_can_be_cancelled_at_any_moment(void **state)
{
	static const enum fake_op ops[] = { FAKE_QUERY, FAKE_REMOVE_ENDED, FAKE_PRUNE };
	start();
	gc = gc_free(gc); /* during the query of the store */
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		fake_add(fake, "husk-old", store_id(b.store), "o", /* running= */ false, OLD);
		fake_hold(fake, ops[i]);
		start();
		FAKE_UNTIL(fake, fake_pending(fake, ops[i]) == 1);
		gc = gc_free(gc);
		fake_let_go(fake, ops[i]);
		FAKE_UNTIL(fake, fake_pending(fake, ops[i]) == 0);
		if (fake_find(fake, "husk-old"))
			fake_vanish(fake_find(fake, "husk-old"));
	}
	assert_false(done);
}

static void warm_containers_of_dead_servers_are_removed(void **state)
{
	add_row("dead", "husk-dead", "dead-server", ROW_WARM, 1);
	add_row("gone", "husk-gone", "dead-server", ROW_WARM, 1);
	add_row("mine", "husk-mine", "this-server", ROW_WARM, 1);
	add_row("alive", "husk-alive", "other-server", ROW_WARM, store_now_ms() + 600000);
	static const char *const names[] = { "husk-dead", "husk-mine", "husk-alive" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		fake_add(fake, names[i], store_id(b.store), "o", /* running= */ true, OLD);
	collect();
	assert_false(failure.kind);
	assert_int_equal(removed, 1);
	assert_int_equal(sessions, 0);
	assert_null(fake_find(fake, "husk-dead"));
	assert_int_equal(fake_count(fake), 2);
	ask_sessions(&b, &a, /* thread= */ NULL, /* all= */ true);
	assert_int_equal(a.n, 2);
}

/* evidence: rows-containers */
/* Write access to the database must not decide what is removed. */
static void rows_of_the_store_do_not_choose_what_is_removed(void **state)
{
	add_row("changed", "husk-own", "dead-server", ROW_WARM, 1);
	add_row("unsealed", "husk-own", "dead-server", ROW_WARM, 1);
	add_row("foreign", "husk-foreign", "dead-server", ROW_WARM, 1);
	add_row("running", "husk-own", "dead-server", ROW_RUNNING, 1);
	bench_sql(&b, "UPDATE sessions SET container = 'husk-victim' WHERE id IN ('changed', 'running')");
	bench_sql(&b, "UPDATE sessions SET container = 'husk-marked', seal = NULL WHERE id = 'unsealed'");
	fake_add(fake, "husk-victim", store_id(b.store), "o", /* running= */ true, OLD);
	fake_mark(fake_add(fake, "husk-marked", store_id(b.store), "o", /* running= */ true, OLD), "m");
	fake_add(fake, "husk-foreign", "another-store", "o", /* running= */ true, OLD);
	collect();
	assert_int_equal(removed, 0);
	assert_int_equal(fake_count(fake), 3);
	assert_int_equal(state_of("running"), ROW_RUNNING);
}

/* --- exports ----------------------------------------------------------------------------------------------------- */

static void add_export(const char *id, uint64_t days)
{
	struct export_record e = { .id = id,
				   .thread = "t",
				   .session = "s",
				   .path = "/workspace/a",
				   .name = "a",
				   .hash = "abcd",
				   .mime = "text/plain",
				   .created = store_now_ms() - days * 86400000 };
	ask_export_add(&b, &a, &e);
	assert_false(a.fail.kind);
}

static size_t count_exports(void)
{
	ask_exports(&b, &a, /* thread= */ NULL, 0, /* id= */ NULL, 100);
	return a.n;
}

static void exports_are_deleted_at_the_age_that_is_set(void **state)
{
	add_export("young", 29);
	add_export("old", 31);
	add_export("older", 400);
	collect();
	assert_int_equal(exports, 0);
	assert_int_equal(count_exports(), 3);
	b.config.exports_max_age_days = 30;
	collect();
	assert_false(failure.kind);
	assert_int_equal(exports, 2);
	assert_int_equal(count_exports(), 1);
	assert_string_equal(a.exports[0].id, "young");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ended_containers_are_removed_when_old),
		TEST(a_failed_removal_does_not_stop_the_others),
		TEST(a_session_without_container_and_server_has_ended),
		TEST(warm_containers_of_dead_servers_are_removed),
		TEST(rows_of_the_store_do_not_choose_what_is_removed),
		TEST(exports_are_deleted_at_the_age_that_is_set),
		TEST(without_an_engine_no_session_counts_as_gone),
		TEST(a_round_can_be_cancelled_at_any_moment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
