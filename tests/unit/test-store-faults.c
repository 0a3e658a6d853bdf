/* manager/store: databases that are damaged, locked, missing, stopped or back again. The loop keeps running, every
 * job is answered, and the answer names the next step and never a password. */
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "manager/store/store.h"
#include "tests/unit/postgres-server.h"
#include "tests/unit/store-rig.h"
#include "tests/unit/unit.h"

static void assert_fault(const char *words)
{
	assert_fails(&a, FAIL_STORE, words);
	assert_non_null(a.fail.hint);
}

static void add(const char *id)
{
	ask_export_add(&b, &a,
		       &(struct export_record){ .id = id,
						.thread = "t1",
						.session = "s1",
						.path = "/workspace/a",
						.name = "a",
						.hash = "00",
						.created = 1 });
}

static void list(void)
{
	ask_exports(&b, &a, NULL, 0, NULL, 100);
}

/* Waits until the store answers again. It retries by itself, with pauses. */
static void list_until_fine(void)
{
	do
		list();
	while (a.fail.kind);
}

/* --- SQLite ------------------------------------------------------------------------------------------------------ */

static char *database(void)
{
	return xasprintf("%s/husk.db", b.config.state_dir);
}

static void overwrite(const char *path, long at, const void *bytes, size_t n)
{
	FILE *f = fopen(path, "r+e");
	assert_non_null(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* evidence: store-damage */
static void a_file_that_is_not_a_database_is_named(void **state)
{
	add("e1");
	assert_fine(&a);
	bench_restart(&b);
	AUTO(freep) char *path = database();
	overwrite(path, 0, "this is no database, is it?", 27);
	list();
	assert_fault("is damaged");
	assert_non_null(strstr(a.fail.message, path));
	assert_non_null(strstr(a.fail.hint, "move it"));
	assert_int_equal(unlink(path), 0);
	list_until_fine();
	assert_int_equal(a.n, 0);
}

/* evidence: store-damage */
/* Every kind of damage is answered with rows or a failure; nothing crashes or hangs. */
static void a_damaged_file_is_survived(void **state)
{
	AUTO(freep) char *path = database();
	unsigned seed = 5;
	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < 20; i++) {
			AUTO(freep) char *id = xasprintf("e%d", i);
			add(id);
		}
		bench_restart(&b);
		struct stat st;
		assert_int_equal(stat(path, &st), 0);
		for (int i = 0; i < 40; i++) {
			uint8_t bytes[8];
			for (size_t k = 0; k < sizeof(bytes); k++)
				bytes[k] = (uint8_t)rand_r(&seed);
			overwrite(path, (long)rand_r(&seed) % (long)st.st_size, bytes, 1 + (size_t)(rand_r(&seed) % 8));
		}
		list();
		assert_true(a.fail.kind == FAIL_NONE || a.fail.kind == FAIL_STORE);
		add("after");
		assert_true(a.fail.kind == FAIL_NONE || a.fail.kind == FAIL_STORE);
		ask_export_find(&b, &a, "t1", "s1", "/workspace/a/b");
		assert_true(a.fail.kind == FAIL_NONE || a.fail.kind == FAIL_STORE);
		bench_restart(&b);
		static const char *const ends[] = { "", "-wal", "-shm" };
		for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
			AUTO(freep) char *file = xasprintf("%s%s", path, ends[i]);
			unlink(file);
		}
	}
}

static void a_place_that_cannot_be_written_is_named(void **state)
{
	AUTO(freep) char *parent = xasprintf("%s/state", b.dir);
	FILE *f = fopen(parent, "we");
	assert_non_null(f);
	fclose(f);
	list();
	assert_fault("cannot create the database");
	assert_non_null(strstr(a.fail.hint, "XDG_STATE_HOME"));
	unlink(parent);
	list_until_fine();
}

static void a_lock_is_waited_for_and_named(void **state)
{
	add("e1");
	AUTO(freep) char *path = database();
	sqlite3 *other = NULL;
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	list(); /* readers do not wait */
	assert_fine(&a);
	add("e2");
	assert_fault("locked by another process");
	assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	add("e2");
	assert_fine(&a);
}

static void a_file_that_was_moved_is_not_written_to(void **state)
{
	add("e1");
	AUTO(freep) char *path = database(), *away = xasprintf("%s/away.db", b.dir);
	assert_int_equal(rename(path, away), 0);
	add("e2");
	assert_fine(&a);
	bench_restart(&b);
	list();
	assert_fine(&a);
	assert_int_equal(a.n, 1);
	assert_string_equal(a.exports[0].id, "e2");
}

/* evidence: store-damage */
static void a_newer_store_is_left_alone(void **state)
{
	list();
	bench_restart(&b);
	AUTO(freep) char *path = database();
	sqlite3 *other = NULL;
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "UPDATE schema_version SET version = 99", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	list();
	assert_fault("newer Husk");
}

/* A store of a version in which stores had no ids. */
static void an_older_store_is_brought_up_to_date(void **state)
{
	list();
	bench_restart(&b);
	AUTO(freep) char *path = database();
	sqlite3 *other = NULL;
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(
			other,
			BENCH_DROP_AFTER_4
			"DROP TABLE store; ALTER TABLE executions DROP COLUMN env; ALTER TABLE sessions DROP COLUMN transport; "
			"UPDATE schema_version SET version = 1",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(other);
	list();
	assert_fine(&a);
	assert_non_null(store_id(b.store));
}

/* --- Postgres ---------------------------------------------------------------------------------------------------- */

static void use_url(const char *format, const char *url)
{
	free(b.config.database_url);
	b.config.database_url = xasprintf(format, url);
	bench_restart(&b);
}

static void assert_keeps_the_secret(void)
{
	assert_null(strstr(a.fail.message, "hunter2"));
	assert_null(strstr(a.fail.hint, "hunter2"));
}

/* evidence: store-password */
static void an_unreachable_postgres_is_named(void **state)
{
	use_url("%s", "postgresql://u:hunter2@127.0.0.1:1/db");
	list();
	assert_fault("127.0.0.1:1 (DATABASE_URL)");
	assert_keeps_the_secret();
	use_url("%s", "postgresql://u:hunter2@[broken/db?x");
	list();
	assert_fault("DATABASE_URL");
	assert_keeps_the_secret();
	use_url("%s", "mysql://u:hunter2@host/db");
	list();
	assert_fault("DATABASE_URL");
	assert_keeps_the_secret();
	/* A server's message may contain the text that it got. */
	use_url("%s&password=hunter2&options=-chunter2", bench_url);
	list();
	assert_fault("DATABASE_URL");
	assert_keeps_the_secret();
}

static void an_address_can_be_given_in_parts(void **state)
{
	free(b.config.database_url);
	b.config.database_url = NULL;
	AUTO(freep) char *host = xstrdup(strstr(bench_url, "host=") + 5), *nobody = xstrdup("127.0.0.1");
	AUTO(freep) char *user = xstrdup("husk"), *name = xstrdup("postgres");
	host[strcspn(host, "&")] = '\0';
	b.config.postgres_host = host;
	b.config.postgres_user = user;
	b.config.postgres_db = name;
	b.config.postgres_port = 5432;
	bench_restart(&b);
	add("e1");
	assert_fine(&a);
	b.config.postgres_host = nobody;
	b.config.postgres_port = 1;
	bench_restart(&b);
	list();
	assert_fault("127.0.0.1:1 (POSTGRES_HOST)");
}

static void a_killed_postgres_is_reconnected(void **state)
{
	add("e1");
	assert_fine(&a);
	postgres_kill();
	list();
	assert_fault("cannot use Postgres at");
	list(); /* the same answer at once, because the store pauses between two attempts */
	assert_fault("cannot use Postgres at");
	store_execution_put(
		b.store, &(struct execution_record){ .session = "s1", .seq = 1, .tool = "execute_code", .started = 1 });
	postgres_restart();
	list_until_fine();
	assert_int_equal(a.n, 1);
	do
		ask_executions(&b, &a, "s1", 10);
	while (!a.fail.kind && a.n == 0);
	assert_fine(&a);
}

/* A connection that the server closed meanwhile causes no failure. */
static void a_restarted_postgres_causes_no_error(void **state)
{
	add("e1");
	postgres_kill();
	postgres_restart();
	add("e2");
	assert_fine(&a);
	list();
	assert_int_equal(a.n, 2);
}

static void on_tick(void *ctx)
{
	++*(int *)ctx;
}

static void a_stopped_postgres_times_out(void **state)
{
	int ticks = 0;
	struct timer *timer = timer_new(b.loop, on_tick, &ticks);
	add("e1");
	assert_fine(&a);
	postgres_signal_all(SIGSTOP);
	timer_start(timer, 1, 1);
	list();
	assert_fault("did not answer in time");
	assert_true(ticks > 100); /* the loop kept running */
	add("e2");		  /* a new connection, which is not answered either */
	assert_fault("did not answer in time");
	postgres_signal_all(SIGCONT);
	timer_free(timer);
	list_until_fine();
	assert_true(a.n >= 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest on_sqlite[] = {
	TEST(a_file_that_is_not_a_database_is_named),  TEST(a_damaged_file_is_survived),
	TEST(a_place_that_cannot_be_written_is_named), TEST(a_lock_is_waited_for_and_named),
	TEST(a_file_that_was_moved_is_not_written_to), TEST(a_newer_store_is_left_alone),
	TEST(an_older_store_is_brought_up_to_date),
};

static const struct CMUnitTest on_postgres[] = {
	TEST(an_unreachable_postgres_is_named), TEST(an_address_can_be_given_in_parts),
	TEST(a_killed_postgres_is_reconnected), TEST(a_restarted_postgres_causes_no_error),
	TEST(a_stopped_postgres_times_out),
};

int main(void)
{
	return cmocka_run_group_tests_name("faults of SQLite", on_sqlite, NULL, NULL) +
	       cmocka_run_group_tests_name("faults of Postgres", on_postgres, bench_start_postgres, bench_end_postgres);
}
