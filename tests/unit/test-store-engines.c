/* manager/store: the engine of a session, on SQLite and on Postgres, and servers that know no engines. */
#include "manager/store/store.h"

#include "tests/unit/store-rig.h"
#include "tests/unit/unit.h"

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

static enum row_seal seal_of(const char *id)
{
	ask_session(&b, &a, id);
	assert_fine(&a);
	assert_int_equal(a.n, 1);
	return a.sessions[0].seal;
}

static const char *engine_of(const char *id, const char *engine, enum row_seal seal)
{
	struct session_record row = session(id, "t1");
	row.engine = engine;
	ask_claim(&b, &a, &row, &roomy);
	assert_fine(&a);
	assert_int_equal(seal_of(id), seal);
	return a.sessions[0].engine;
}

static void a_row_knows_its_engine(void **state)
{
	assert_string_equal(engine_of("s1", "docker", SEAL_GOOD), "docker");
	assert_string_equal(engine_of("s2", "kubernetes", SEAL_GOOD), "kubernetes");
	bench_sql(&b, "UPDATE sessions SET engine = 'docker' WHERE id = 's2'");
	assert_int_equal(seal_of("s2"), SEAL_BROKEN);
	bench_sql(&b, "UPDATE sessions SET engine = 'kubernetes' WHERE id = 's1'");
	assert_int_equal(seal_of("s1"), SEAL_BROKEN);
}

/* Servers of the previous version do not write the column, and check seals without it. */
static void a_server_that_knows_no_engines_can_share_the_store(void **state)
{
	assert_string_equal(engine_of("s1", "docker", SEAL_GOOD), "docker");
	bench_sql(&b, "UPDATE sessions SET engine = NULL");
	assert_int_equal(seal_of("s1"), SEAL_GOOD);
	assert_string_equal(a.sessions[0].engine, "docker");
	/* They refuse a store with another number. */
	bench_sql(&b, "UPDATE sessions SET name = (SELECT 'v' || MAX(version) FROM schema_version)");
	assert_int_equal(seal_of("s1"), SEAL_GOOD);
	assert_string_equal(a.sessions[0].name, "v15");
}

/* During a rolling upgrade, servers of this version use a store that has more columns and tables than they know. */
static void a_store_with_later_additions_can_be_used(void **state)
{
	bench_restart(&b);
	assert_string_equal(engine_of("s1", "docker", SEAL_GOOD), "docker");
	bench_sql(&b, "INSERT INTO schema_additions (done) VALUES (99); ALTER TABLE sessions ADD COLUMN later TEXT; "
		      "UPDATE sessions SET later = 'x'");
	assert_string_equal(engine_of("s2", "docker", SEAL_GOOD), "docker");
	bench_restart(&b);
	assert_int_equal(seal_of("s1"), SEAL_GOOD);
	assert_string_equal(engine_of("s3", "kubernetes", SEAL_GOOD), "kubernetes");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(a_row_knows_its_engine),
	TEST(a_server_that_knows_no_engines_can_share_the_store),
	TEST(a_store_with_later_additions_can_be_used),
};

int main(void)
{
	return cmocka_run_group_tests_name("engines on SQLite", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("engines on Postgres", tests, bench_start_postgres, bench_end_postgres);
}
