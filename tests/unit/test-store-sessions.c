/* manager/store: sessions, executions, dependency sets, on SQLite and on Postgres. */
#include "manager/store/store.h"

#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/model/token.h"
#include "tests/unit/store-rig.h"
#include "tests/unit/unit.h"

/* --- the store --- */

static void a_store_has_an_id_and_keeps_it(void **state)
{
	assert_null(store_id(b.store));
	ask_identify(&b, &a);
	assert_fine(&a);
	AUTO(freep) char *id = xstrdup(store_id(b.store));
	assert_int_equal(strlen(id), TOKEN_SIZE - 1);
	bench_restart(&b);
	assert_null(store_id(b.store));
	ask_sessions(&b, &a, NULL, true);
	assert_fine(&a);
	assert_string_equal(store_id(b.store), id);
}

/* --- sessions ---------------------------------------------------------------------------------------------------- */

static const struct claim_limits roomy = { .sessions = 100, .sessions_per_thread = 100, .threads = 100 };

static struct session_record session(const char *id, const char *thread)
{
	uint64_t now = store_now_ms();
	return (struct session_record){
		.id = id,
		.thread = thread,
		.runtime = "python",
		.container = "husk-c",
		.image = "husk-python:1",
		.owner = "server-1",
		.owner_host = "host boot",
		.owner_pid = 42,
		.epoch = 1,
		.state = ROW_STARTING,
		.limits = "{\"memory\":1}",
		.lease_until = now + 60000,
		.created = now,
		.used = now,
		.ends = now + 7200000,
	};
}

static void claim(const char *id, const char *thread)
{
	struct session_record row = session(id, thread);
	ask_claim(&b, &a, &row, &roomy);
	assert_fine(&a);
}

static void a_session_survives_a_restart(void **state)
{
	struct session_record row = session("s1", "t1");
	row.busy = true;
	ask_claim(&b, &a, &row, &roomy);
	assert_fine(&a);
	ask_session(&b, &a, "s1");
	assert_fine(&a);
	assert_int_equal(a.n, 1);
	const struct session_record *r = a.sessions;
	assert_string_equal(r->thread, "t1");
	assert_string_equal(r->runtime, "python");
	assert_string_equal(r->container, "husk-c");
	assert_string_equal(r->image, "husk-python:1");
	assert_string_equal(r->owner, "server-1");
	assert_string_equal(r->owner_host, "host boot");
	assert_int_equal(r->owner_pid, 42);
	assert_int_equal(r->epoch, 1);
	assert_int_equal(r->state, ROW_STARTING);
	assert_null(r->cause);
	assert_string_equal(r->limits, "{\"memory\":1}");
	assert_int_equal(r->lease_until, row.lease_until);
	assert_int_equal(r->created, row.created);
	assert_int_equal(r->used, row.used);
	assert_int_equal(r->ends, row.ends);
	assert_int_equal(r->ended, 0);
	assert_true(r->busy);
	ask_session(&b, &a, "s2");
	assert_fine(&a);
	assert_int_equal(a.n, 0);
}

static enum row_seal seal_of(const char *id)
{
	ask_session(&b, &a, id);
	assert_fine(&a);
	assert_int_equal(a.n, 1);
	return a.sessions[0].seal;
}

/* evidence: rows-containers */
static void a_changed_row_names_no_container(void **state)
{
	static const char *const changes[] = {
		"container = 'husk-other'",
		"mark = 'other'",
		"mark = NULL",
		"thread = 't2'",
		"runtime = 'r'",
		"image = 'other'",
		"limits = NULL",
		"created = 1",
		"ends = ends + 1",
		"seal = ''",
		"id = 's2'",
	};
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		AUTO(freep) char *sql = xasprintf("UPDATE sessions SET %s", changes[i]);
		struct session_record row = session("s1", "t1");
		row.mark = "mark";
		ask_claim(&b, &a, &row, &roomy);
		assert_fine(&a);
		assert_int_equal(seal_of("s1"), SEAL_GOOD);
		assert_string_equal(a.sessions[0].mark, "mark");
		bench_sql(&b, sql);
		assert_int_equal(seal_of(strstr(sql, "id = 's2'") ? "s2" : "s1"), SEAL_BROKEN);
		assert_null(a.sessions[0].container);
		assert_null(a.sessions[0].mark);
		bench_sql(&b, "DELETE FROM sessions");
	}
}

/* A seal does not cover the columns that servers keep changing, including servers of the previous version. */
static void a_seal_outlives_updates_and_a_take_over(void **state)
{
	claim("s1", "t1");
	bench_sql(&b,
		  "UPDATE sessions SET owner = 'o', fence = 7, state = 'ended', lease_until = 1, used = 1, busy = 1");
	assert_int_equal(seal_of("s1"), SEAL_GOOD);
	bench_sql(&b, "UPDATE sessions SET seal = NULL, mark = 'any'");
	assert_int_equal(seal_of("s1"), SEAL_NONE);
	assert_string_equal(a.sessions[0].container, "husk-c");
	assert_null(a.sessions[0].mark);
}

static void limits_hold(void **state)
{
	const struct claim_limits two = { .sessions = 2, .sessions_per_thread = 100, .threads = 100 };
	const struct claim_limits one_each = { .sessions = 100, .sessions_per_thread = 1, .threads = 100 };
	const struct claim_limits one_thread = { .sessions = 100, .sessions_per_thread = 100, .threads = 1 };
	claim("s1", "t1");
	struct session_record row = session("s2", "t1");
	ask_claim(&b, &a, &row, &one_each);
	assert_fails(&a, FAIL_LIMIT, "Maximum sessions per conversation (1) reached. Stop an existing session first.");
	assert_non_null(strstr(a.fail.hint, "CONTAINER_MAX_SESSIONS_PER_THREAD"));
	assert_int_equal(a.n, 1);
	assert_string_equal(a.sessions[0].id, "s1");
	row.thread = "t2";
	ask_claim(&b, &a, &row, &one_thread);
	assert_fails(&a, FAIL_LIMIT, "conversations");
	assert_int_equal(a.n, 0);
	ask_claim(&b, &a, &row, &one_each);
	assert_fine(&a);
	row = session("s3", "t1");
	ask_claim(&b, &a, &row, &two);
	assert_fails(&a, FAIL_LIMIT, "Maximum number of sessions (2) reached. Stop an existing session first.");
	assert_int_equal(a.n, 1);
	ask_claim(&b, &a, &row, &one_thread);
	assert_fine(&a); /* its conversation has a session already */
}

/* --- warm ones --- */

static void keep_warm(const char *id, const char *owner, const struct claim_limits *limits)
{
	struct session_record row = session(id, "");
	row.state = ROW_WARM;
	row.owner = owner;
	ask_claim(&b, &a, &row, limits);
}

static bool is_there(const char *id)
{
	ask_session(&b, &a, id);
	assert_fine(&a);
	return a.n == 1;
}

static void warm_containers_take_free_slots_only(void **state)
{
	const struct claim_limits three = { .sessions = 3, .sessions_per_thread = 100, .threads = 1 };
	claim("s1", "t1");
	keep_warm("w1", "server-1", &three);
	assert_fine(&a);
	keep_warm("w2", "server-1", &three);
	assert_fine(&a);
	keep_warm("w3", "server-1", &three);
	assert_fails(&a, FAIL_LIMIT, "CONTAINER_MAX_SESSIONS");
	/* Warm containers belong to no conversation, and do not count as one. */
	ask_sessions(&b, &a, /* thread= */ NULL, /* all= */ false);
	assert_int_equal(a.n, 1);
	struct session_record row = session("s2", "t1");
	ask_claim(&b, &a, &row, &three);
	assert_fine(&a);
	assert_int_equal(a.n, 1);
}

static void warm_containers_give_up_their_slots(void **state)
{
	const struct claim_limits three = { .sessions = 3, .sessions_per_thread = 100, .threads = 100 };
	keep_warm("other", "server-2", &three);
	keep_warm("w1", "server-1", &three);
	claim("s1", "t1");
	struct session_record row = session("s2", "t1");
	ask_claim(&b, &a, &row, &three);
	assert_fine(&a);
	/* Our own warm container is removed first. */
	assert_int_equal(a.n, 1);
	assert_string_equal(a.sessions[0].id, "w1");
	assert_false(is_there("w1"));
	row = session("s3", "t2");
	ask_claim(&b, &a, &row, &three);
	assert_fine(&a);
	assert_int_equal(a.n, 1);
	assert_string_equal(a.sessions[0].id, "other");
	assert_string_equal(a.sessions[0].container, "husk-c");
	row = session("s4", "t2");
	ask_claim(&b, &a, &row, &three);
	assert_fails(&a, FAIL_LIMIT, "Maximum number of sessions (3)");
}

static void a_claim_takes_the_slot_of_a_warm_container(void **state)
{
	const struct claim_limits two = { .sessions = 2, .sessions_per_thread = 1, .threads = 100 };
	claim("s1", "t1");
	keep_warm("w1", "server-1", &two);
	assert_fine(&a);
	struct session_record row = session("s2", "t1");
	ask_claim_warm(&b, &a, &row, "w1", &two);
	assert_fails(&a, FAIL_LIMIT, "per conversation");
	assert_true(is_there("w1"));
	row.thread = "t2";
	ask_claim_warm(&b, &a, &row, "w1", &two);
	assert_fine(&a);
	assert_int_equal(a.n, 0);
	assert_false(is_there("w1"));
	assert_true(is_there("s2"));
	/* A removed warm container cannot become a session. */
	row = session("s3", "t3");
	ask_claim_warm(&b, &a, &row, "w1", &roomy);
	assert_fails(&a, FAIL_NOT_FOUND, "was evicted");
	ask_claim_warm(&b, &a, &row, "s1", &roomy);
	assert_fails(&a, FAIL_NOT_FOUND, "was evicted");
	assert_false(is_there("s3"));
}

static void a_warm_row_can_be_dropped_by_its_owner(void **state)
{
	keep_warm("w1", "server-1", &roomy);
	ask_drop(&b, &a, "w1", "server-2");
	assert_fails(&a, FAIL_NOT_FOUND, "no such row");
	ask_drop(&b, &a, "w1", "server-1");
	assert_fine(&a);
	assert_false(is_there("w1"));
}

/* There is only one user number, so every container name leads to it. */
static void two_sessions_never_share_a_user(void **state)
{
	struct claim_limits limits = roomy;
	limits.users = 1;
	struct session_record row = session("s1", "t1");
	ask_claim(&b, &a, &row, &limits);
	assert_fine(&a);
	row = session("s2", "t2");
	row.owner = "server-2";
	row.container = "husk-another";
	ask_claim(&b, &a, &row, &limits);
	assert_fails(&a, FAIL_BUSY, "user");
	assert_int_equal(cause_of(&a.fail), CAUSE_USER_TAKEN);
	ask_claim(&b, &a, &row, &roomy);
	assert_fine(&a); /* if no number is free, sharing one is better than failing */
	for (unsigned i = 1; i <= 2; i++)
		ask_update(&b, &a,
			   &(struct session_update){ .id = i == 1 ? "s1" : "s2",
						     .owner = i == 1 ? "server-1" : "server-2",
						     .epoch = 1,
						     .state = ROW_ENDED });
	row = session("s3", "t1");
	ask_claim(&b, &a, &row, &limits);
	assert_fine(&a);
	/* With many user numbers, other numbers are free. */
	limits.users = 478;
	row = session("s4", "t1");
	row.container =
		token_number("husk-1", 478) == token_number(session("s3", "t1").container, 478) ? "husk-2" : "husk-1";
	ask_claim(&b, &a, &row, &limits);
	assert_fine(&a);
}

static void ended_sessions_and_expired_leases_hold_no_slot(void **state)
{
	const struct claim_limits one = { .sessions = 1, .sessions_per_thread = 1, .threads = 1 };
	struct session_record row = session("s1", "t1");
	row.lease_until = store_now_ms() - 1;
	ask_claim(&b, &a, &row, &one);
	assert_fine(&a);
	row = session("s2", "t2");
	ask_claim(&b, &a, &row, &one);
	assert_fine(&a);
	row = session("s3", "t2");
	ask_claim(&b, &a, &row, &one);
	assert_fails(&a, FAIL_LIMIT, "sessions (1)");
	ask_update(&b, &a,
		   &(struct session_update){
			   .id = "s2", .owner = "server-1", .epoch = 1, .state = ROW_ENDED, .cause = "x" });
	assert_fine(&a);
	ask_claim(&b, &a, &row, &one);
	assert_fine(&a);
}

static void an_update_changes_only_its_fields(void **state)
{
	claim("s1", "t1");
	uint64_t now = store_now_ms();
	struct session_update u = {
		.id = "s1", .owner = "server-1", .epoch = 1, .lease_until = now + 9, .used = now + 5, .busy = true
	};
	ask_update(&b, &a, &u);
	assert_fine(&a);
	ask_session(&b, &a, "s1");
	assert_int_equal(a.sessions[0].state, ROW_STARTING);
	assert_int_equal(a.sessions[0].lease_until, now + 9);
	assert_int_equal(a.sessions[0].used, now + 5);
	assert_true(a.sessions[0].busy);
	u.state = ROW_RUNNING;
	u.used = 1; /* the time of last use never goes back */
	u.busy = false;
	ask_update(&b, &a, &u);
	assert_fine(&a);
	ask_session(&b, &a, "s1");
	assert_int_equal(a.sessions[0].state, ROW_RUNNING);
	assert_int_equal(a.sessions[0].used, now + 5);
	assert_int_equal(a.sessions[0].ended, 0);
	assert_false(a.sessions[0].busy);
	u.state = ROW_ENDED;
	u.cause = "stopped";
	ask_update(&b, &a, &u);
	assert_fine(&a);
	u.state = ROW_RUNNING; /* an ended session stays ended */
	ask_update(&b, &a, &u);
	assert_fine(&a);
	ask_session(&b, &a, "s1");
	assert_int_equal(a.sessions[0].state, ROW_ENDED);
	assert_string_equal(a.sessions[0].cause, "stopped");
	assert_true(a.sessions[0].ended >= now);
}

static void only_the_owner_updates(void **state)
{
	claim("s1", "t1");
	ask_update(&b, &a, &(struct session_update){ .id = "s1", .owner = "server-2", .epoch = 1 });
	assert_fails(&a, FAIL_FOREIGN, "s1");
	ask_update(&b, &a, &(struct session_update){ .id = "s1", .owner = "server-1", .epoch = 2 });
	assert_fails(&a, FAIL_FOREIGN, "s1");
	ask_update(&b, &a, &(struct session_update){ .id = "none", .owner = "server-1", .epoch = 1 });
	assert_fails(&a, FAIL_NOT_FOUND, "none");
}

static void limits_are_replaced_and_sealed_again(void **state)
{
	struct session_update update = { .id = "s1", .owner = "server-1", .epoch = 1 };
	claim("s1", "t1");
	ask_set_limits(&b, &a, &update, "{\"memory\":2}");
	assert_fine(&a);
	assert_int_equal(seal_of("s1"), SEAL_GOOD);
	assert_string_equal(a.sessions[0].limits, "{\"memory\":2}");
	update.epoch = 2;
	ask_set_limits(&b, &a, &update, "{}");
	assert_fails(&a, FAIL_FOREIGN, "s1");
	/* A row that somebody else has changed never gets a valid seal. */
	bench_sql(&b, "UPDATE sessions SET limits = '{}'");
	update.epoch = 1;
	ask_set_limits(&b, &a, &update, "{\"memory\":3}");
	assert_fails(&a, FAIL_STORE, "seal");
	assert_int_equal(seal_of("s1"), SEAL_BROKEN);
}

static void one_take_over_wins(void **state)
{
	claim("s1", "t1");
	struct take_over t = { .id = "s1",
			       .old_owner = "server-1",
			       .old_epoch = 1,
			       .new_owner = "server-2",
			       .new_owner_host = "other",
			       .new_owner_pid = 7,
			       .lease_until = 99 };
	ask_take_over(&b, &a, &t);
	assert_fine(&a);
	assert_int_equal(a.n, 1);
	assert_string_equal(a.sessions[0].owner, "server-2");
	assert_string_equal(a.sessions[0].owner_host, "other");
	assert_int_equal(a.sessions[0].owner_pid, 7);
	assert_int_equal(a.sessions[0].epoch, 2);
	assert_int_equal(a.sessions[0].lease_until, 99);
	t.new_owner = "server-3";
	ask_take_over(&b, &a, &t);
	assert_fine(&a);
	assert_int_equal(a.n, 0);
	ask_update(&b, &a,
		   &(struct session_update){
			   .id = "s1", .owner = "server-2", .epoch = 2, .state = ROW_ENDED, .cause = "x" });
	assert_fine(&a);
	t.old_owner = "server-2";
	t.old_epoch = 2;
	ask_take_over(&b, &a, &t); /* there is no session to take over */
	assert_fine(&a);
	assert_int_equal(a.n, 0);
}

static void sessions_are_listed_newest_first(void **state)
{
	static const char *const ids[] = { "s1", "s2", "s3" };
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		struct session_record row = session(ids[i], i == 1 ? "t2" : "t1");
		row.created = 1000 + i;
		ask_claim(&b, &a, &row, &roomy);
		assert_fine(&a);
	}
	ask_update(&b, &a,
		   &(struct session_update){
			   .id = "s3", .owner = "server-1", .epoch = 1, .state = ROW_ENDED, .cause = "x" });
	ask_sessions(&b, &a, NULL, true);
	assert_int_equal(a.n, 3);
	assert_string_equal(a.sessions[0].id, "s3");
	assert_string_equal(a.sessions[2].id, "s1");
	ask_sessions(&b, &a, "t1", true);
	assert_int_equal(a.n, 2);
	ask_sessions(&b, &a, "t1", false);
	assert_int_equal(a.n, 1);
	assert_string_equal(a.sessions[0].id, "s1");
	ask_sessions(&b, &a, "t3", true);
	assert_fine(&a);
	assert_int_equal(a.n, 0);
}

/* --- executions -------------------------------------------------------------------------------------------------- */

static void on_settled(void *ctx)
{
	++*(int *)ctx;
	loop_stop(b.loop, 0);
}

static void executions_are_completed(void **state)
{
	store_execution_put(b.store, &(struct execution_record){ .session = "s1",
								 .seq = 1,
								 .tool = "execute_code",
								 .started = 10,
								 .in_bytes = 3,
								 .at_once = true });
	store_execution_put(
		b.store, &(struct execution_record){
				 .session = "s1", .seq = 2, .tool = "execute_terminal", .started = 11, .in_bytes = 4 });
	store_execution_put(b.store, &(struct execution_record){ .session = "s1",
								 .seq = 1,
								 .tool = "execute_code",
								 .started = 10,
								 .ended = 20,
								 .ending = "ok",
								 .out_bytes = 5 });
	store_execution_put(b.store, &(struct execution_record){
					     .session = "s2", .seq = 1, .tool = "execute_code", .started = 12 });
	ask_executions(&b, &a, "s2", 10); /* the queue is in order, but it may hold more records than one job writes */
	ask_executions(&b, &a, "s1", 10);
	assert_fine(&a);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.executions[0].seq, 1);
	assert_string_equal(a.executions[0].tool, "execute_code");
	assert_int_equal(a.executions[0].started, 10);
	assert_int_equal(a.executions[0].ended, 20);
	assert_string_equal(a.executions[0].ending, "ok");
	assert_int_equal(a.executions[0].in_bytes, 3);
	assert_int_equal(a.executions[0].out_bytes, 5);
	assert_int_equal(a.executions[1].seq, 2);
	assert_null(a.executions[1].ending);
	ask_executions(&b, &a, "s1", 1);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.executions[0].seq, 2);
}

/* No caller waits for a record, so it is written after a delay in which more records can join. */
static void executions_are_written_in_batches(void **state)
{
	int settled = 0;
	for (unsigned i = 1; i <= 3; i++) {
		struct execution_record e = {
			.session = "s1", .seq = i, .tool = "execute_code", .started = 1, .in_bytes = 7
		};
		store_execution_put(b.store, &e);
		e = (struct execution_record){
			.session = "s1", .seq = i, .tool = "execute_code", .ended = 5, .ending = "ok", .out_bytes = 9
		};
		store_execution_put(b.store, &e);
	}
	store_settle(b.store, 600000, on_settled, &settled);
	loop_run(b.loop);
	ask_executions(&b, &a, "s1", 10);
	assert_int_equal(a.n, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(a.executions[i].started, 1);
		assert_int_equal(a.executions[i].ended, 5);
		assert_int_equal(a.executions[i].in_bytes, 7);
		assert_int_equal(a.executions[i].out_bytes, 9);
		assert_string_equal(a.executions[i].ending, "ok");
	}
}

static void a_thousand_executions_are_written(void **state)
{
	for (unsigned i = 1; i <= 1000; i++)
		store_execution_put(b.store, &(struct execution_record){
						     .session = "s1", .seq = i, .tool = "execute_code", .started = i });
	do
		ask_executions(&b, &a, "s1", 2000);
	while (!a.fail.kind && a.n < 1000);
	assert_fine(&a);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(a.executions[i].seq, i + 1);
}

static void queued_executions_are_written_before_the_end(void **state)
{
	int settled = 0;
	store_execution_put(b.store,
			    &(struct execution_record){ .session = "s1", .seq = 1, .tool = "t", .started = 1 });
	store_execution_put(b.store,
			    &(struct execution_record){ .session = "s1", .seq = 2, .tool = "t", .started = 1 });
	store_settle(b.store, 600000, on_settled, &settled);
	assert_int_equal(settled, 0);
	loop_run(b.loop);
	assert_int_equal(settled, 1);
	bench_restart(&b);
	ask_executions(&b, &a, "s1", 10);
	assert_int_equal(a.n, 2);
	store_settle(b.store, 600000, on_settled, &settled); /* nothing to wait for */
	loop_run(b.loop);
	assert_int_equal(settled, 2);
	/* Records that are queued in the same turn are waited for too. */
	store_settle(b.store, 600000, on_settled, &settled);
	store_execution_put(b.store,
			    &(struct execution_record){ .session = "s1", .seq = 3, .tool = "t", .started = 1 });
	loop_run(b.loop);
	assert_int_equal(settled, 3);
	bench_restart(&b);
	ask_executions(&b, &a, "s1", 10);
	assert_int_equal(a.n, 3);
	store_settle(b.store, 600000, on_settled, &settled);
	bench_restart(&b); /* forgotten */
	assert_int_equal(settled, 3);
}

/* --- dependency sets --------------------------------------------------------------------------------------------- */

static struct set_record set(const char *key, const char *builder)
{
	return (struct set_record){
		.key = key,
		.image = "husk-deps:1",
		.runtime = "python",
		.wanted = "{\"pandas\":\"\"}",
		.unpinned = true,
		.used = 1,
		.builder = builder,
		.builder_until = store_now_ms() + 60000,
	};
}

static void one_server_builds_a_set(void **state)
{
	struct set_record mine = set("k1", "server-1"), theirs = set("k1", "server-2");
	ask_set_claim(&b, &a, &mine, 0);
	assert_fine(&a);
	assert_true(a.yours);
	assert_string_equal(a.sets[0].builder, "server-1");
	ask_set_claim(&b, &a, &theirs, 0);
	assert_fine(&a);
	assert_false(a.yours);
	assert_string_equal(a.sets[0].builder, "server-1");
	assert_null(a.sets[0].versions);
	ask_set_built(&b, &a, &theirs);
	assert_fails(&a, FAIL_FOREIGN, "another server");
	mine.builder_until += 5;
	ask_set_built(&b, &a, &mine);
	assert_fine(&a);
	mine.versions = "{\"pandas\":\"2.2.3\"}";
	mine.size = 1000;
	mine.built = 100;
	ask_set_built(&b, &a, &mine);
	assert_fine(&a);
	ask_set_claim(&b, &a, &theirs, 100);
	assert_false(a.yours);
	assert_null(a.sets[0].builder);
	assert_string_equal(a.sets[0].versions, "{\"pandas\":\"2.2.3\"}");
	assert_string_equal(a.sets[0].wanted, "{\"pandas\":\"\"}");
	assert_string_equal(a.sets[0].image, "husk-deps:1");
	assert_int_equal(a.sets[0].size, 1000);
	assert_int_equal(a.sets[0].built, 100);
	assert_true(a.sets[0].unpinned);
	ask_set_claim(&b, &a, &theirs, 101); /* too old now */
	assert_true(a.yours);
	assert_string_equal(a.sets[0].builder, "server-2");
	assert_null(a.sets[0].versions);
}

static void a_dead_builder_is_replaced(void **state)
{
	struct set_record mine = set("k1", "server-1"), theirs = set("k1", "server-2");
	mine.builder_until = store_now_ms() - 1;
	ask_set_claim(&b, &a, &mine, 0);
	assert_true(a.yours);
	ask_set_claim(&b, &a, &theirs, 0);
	assert_true(a.yours);
	mine.versions = "{}";
	ask_set_built(&b, &a, &mine);
	assert_fails(&a, FAIL_FOREIGN, "another server");
}

static void a_pinned_set_does_not_age(void **state)
{
	struct set_record mine = set("k1", "server-1"), theirs = set("k1", "server-2");
	mine.unpinned = false;
	ask_set_claim(&b, &a, &mine, 0);
	mine.versions = "{}";
	mine.built = 100;
	ask_set_built(&b, &a, &mine);
	assert_fine(&a);
	ask_set_claim(&b, &a, &theirs, 1000);
	assert_false(a.yours);
}

static void sets_are_listed_by_use(void **state)
{
	static const char *const keys[] = { "k1", "k2", "k3" };
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		struct set_record row = set(keys[i], "server-1");
		row.used = 10 + i;
		ask_set_claim(&b, &a, &row, 0);
		assert_fine(&a);
	}
	ask_set_used(&b, &a, "k1");
	assert_fine(&a);
	ask_set_remove(&b, &a, "k2");
	assert_fine(&a);
	ask_sets(&b, &a);
	assert_int_equal(a.n, 2);
	assert_string_equal(a.sets[0].key, "k3");
	assert_string_equal(a.sets[1].key, "k1");
	assert_true(a.sets[1].used > 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(a_store_has_an_id_and_keeps_it),
	TEST(a_session_survives_a_restart),
	TEST(a_changed_row_names_no_container),
	TEST(a_seal_outlives_updates_and_a_take_over),
	TEST(limits_hold),
	TEST(warm_containers_take_free_slots_only),
	TEST(warm_containers_give_up_their_slots),
	TEST(a_claim_takes_the_slot_of_a_warm_container),
	TEST(a_warm_row_can_be_dropped_by_its_owner),
	TEST(two_sessions_never_share_a_user),
	TEST(ended_sessions_and_expired_leases_hold_no_slot),
	TEST(an_update_changes_only_its_fields),
	TEST(only_the_owner_updates),
	TEST(limits_are_replaced_and_sealed_again),
	TEST(one_take_over_wins),
	TEST(sessions_are_listed_newest_first),
	TEST(executions_are_completed),
	TEST(executions_are_written_in_batches),
	TEST(a_thousand_executions_are_written),
	TEST(queued_executions_are_written_before_the_end),
	TEST(one_server_builds_a_set),
	TEST(a_dead_builder_is_replaced),
	TEST(a_pinned_set_does_not_age),
	TEST(sets_are_listed_by_use),
};

int main(void)
{
	return cmocka_run_group_tests_name("sessions on SQLite", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("sessions on Postgres", tests, bench_start_postgres, bench_end_postgres);
}
