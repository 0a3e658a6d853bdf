/* manager/store/chain: every change of the log outside Husk is found, on SQLite and on Postgres. */
#include "manager/store/store.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "tests/unit/store-rig.h"
#include "tests/unit/unit.h"

static struct log_verdict seen; /* of the last verify() */
static char *found;		/* and its findings: "session: fault record item\n" for each */
static char *receipt;

static int free_all(void **state)
{
	free(take_ptr(found));
	free(take_ptr(receipt));
	return teardown(state);
}

/* --- verifying --------------------------------------------------------------------------------------------------- */

struct verification {
	const char *session;
	struct buf out;
	struct strv names;
	uint64_t pruned;
};

static void assert_no_failure(const struct fail *f)
{
	if (f)
		fail_msg("the store: %s", f->message);
}

static void on_verdict(void *ctx, const struct log_verdict *v, const struct fail *f)
{
	struct verification *l = ctx;
	assert_no_failure(f);
	for (size_t i = 0; i < v->n; i++)
		buf_printf(&l->out, "%s: %s %s %s\n", l->session, log_fault_name(v->v[i].fault), v->v[i].record,
			   v->v[i].item);
	seen.records += v->records;
	seen.uncovered += v->uncovered;
	seen.pruned += v->pruned;
	loop_stop(b.loop, 0);
}

static void on_names(void *ctx, char *const *names, size_t n, const struct fail *f)
{
	struct verification *l = ctx;
	assert_no_failure(f);
	for (size_t i = 0; i < n; i++)
		strv_add(&l->names, names[i]);
	loop_stop(b.loop, 0);
}

/* Findings in the whole store. */
static const char *verify(void)
{
	struct verification l = { 0 };
	seen = (struct log_verdict){ 0 };
	store_chains(b.store, on_names, &l);
	loop_run(b.loop);
	for (size_t i = 0; i < l.names.n; i++) {
		l.session = l.names.v[i];
		store_verify(b.store, l.session, on_verdict, &l);
		loop_run(b.loop);
	}
	strv_release(&l.names);
	free(found);
	found = buf_steal_str(&l.out);
	return found;
}

static void assert_found(const char *what)
{
	if (!strstr(verify(), what))
		fail_msg("'%s' is not in: %s", what, found);
}

/* --- a log ------------------------------------------------------------------------------------------------------- */

static void execution(const char *session, uint64_t seq, uint64_t ended)
{
	store_execution_put(b.store, &(struct execution_record){ .session = session,
								 .seq = seq,
								 .tool = "execute_code",
								 .started = 10 * seq,
								 .ended = ended,
								 .ending = ended ? "error" : NULL,
								 .in_bytes = 7,
								 .at_once = true });
}

static void export(const char *session, const char *id)
{
	ask_export_add(&b, &a,
		       &(struct export_record){ .id = id,
						.thread = "t1",
						.session = session,
						.path = "/workspace/a.csv",
						.name = "a.csv",
						.hash = "abc",
						.created = 5 });
	assert_int_equal(a.fail.kind, FAIL_NONE);
}

static void on_done(void *ctx, const struct fail *f)
{
	assert_no_failure(f);
	loop_stop(b.loop, 0);
}

static void put_receipt(const char *result)
{
	store_receipt_put(
		b.store,
		&(struct receipt_record){
			.image = "husk-python:1", .engine = "20.10", .boot = "b", .result = result, .created = 3 },
		on_done, NULL);
	loop_run(b.loop);
}

static void on_receipt(void *ctx, const struct receipt_record *r, const struct fail *f)
{
	assert_no_failure(f);
	free(receipt);
	receipt = r ? xstrdup(r->result) : NULL;
	loop_stop(b.loop, 0);
}

static const char *get_receipt(const char *boot)
{
	store_receipt_get(b.store, "husk-python:1", "20.10", boot, on_receipt, NULL);
	loop_run(b.loop);
	return receipt;
}

/* Two sessions with three executions and an export each, and a receipt. */
static void write_log(void)
{
	for (int i = 1; i <= 3; i++) {
		execution("s1", (uint64_t)i, 0);
		execution("s2", (uint64_t)i, 0);
		execution("s1", (uint64_t)i, 10 * (uint64_t)i + 1);
	}
	/* The exports' links come last. */
	do
		ask_executions(&b, &a, "s1", 10);
	while (a.n < 3 || !a.executions[2].ended);
	export("s1", "e1");
	export("s2", "e2");
	put_receipt("all refused");
}

static void an_untouched_log_verifies(void **state)
{
	assert_string_equal(verify(), "");
	write_log();
	assert_string_equal(verify(), "");
	assert_int_equal(seen.records, 9);
	assert_int_equal(seen.uncovered + seen.pruned, 0);
	bench_restart(&b);
	execution("s1", 4, 0);
	export("s3", "e3");
	put_receipt("again");
	assert_string_equal(verify(), "");
	assert_int_equal(seen.records, 11);
	assert_string_equal(get_receipt("b"), "again");
	assert_null(get_receipt("another boot"));
}

/* --- changes of the log ------------------------------------------------------------------------------------------ */

#define NEW_EXECUTION "INSERT INTO executions (session, seq, tool, started, ended, in_bytes, out_bytes) VALUES "
#define NEW_EXPORT                                                                                                     \
	"INSERT INTO exports (id, thread, session, path, name, directory, size, stored, hash, mode, mtime_ms, created) VALUES "
#define LAST_OF_S1 "(SELECT MAX(position) FROM chain WHERE session = 's1')"

static const struct {
	const char *sql, *finding;
} acts[] = {
	{ "UPDATE executions SET ending = 'ok' WHERE session = 's1' AND seq = 2", "s1: changed execution 2\n" },
	{ "UPDATE executions SET ending = NULL WHERE session = 's1' AND seq = 2", "s1: changed execution 2\n" },
	{ "UPDATE executions SET started = started + 1 WHERE session = 's2' AND seq = 1", "s2: changed execution 1\n" },
	{ "UPDATE executions SET env = 'TOKEN' WHERE session = 's2' AND seq = 3", "s2: changed execution 3\n" },
	{ "DELETE FROM executions WHERE session = 's1' AND seq = 1", "s1: removed execution 1\n" },
	{ NEW_EXECUTION "('s1', 9, 'execute_code', 1, 2, 0, 0)", "s1: added execution 9\n" },
	{ NEW_EXECUTION "('s9', 1, 'execute_code', 1, 2, 0, 0)", "s9: added execution 1\n" },
	{ "UPDATE executions SET session = 's2', seq = 9 WHERE session = 's1' AND seq = 3", "s2: added execution 9\n" },
	{ "UPDATE exports SET hash = 'def' WHERE id = 'e1'", "s1: changed export e1\n" },
	{ "UPDATE exports SET thread = 't2' WHERE id = 'e1'", "s1: changed export e1\n" },
	{ "UPDATE exports SET session = 's1' WHERE id = 'e2'", "s1: added export e2\n" },
	{ "DELETE FROM exports WHERE id = 'e2'", "s2: removed export e2\n" },
	{ NEW_EXPORT "('e9', 't', 's2', '/a', 'a', 0, 1, 1, 'h', 0, 0, 1)", "s2: added export e9\n" },
	{ "UPDATE receipts SET result = 'nothing refused'", ": changed receipt " },
	{ "DELETE FROM receipts", ": removed receipt " },
	{ "INSERT INTO receipts VALUES ('k', 'i', 'e', 'b', 'r', 1)", ": added receipt k\n" },
	/* The records and their links. */
	{ "DELETE FROM executions WHERE session = 's2' AND seq = 1; DELETE FROM chain WHERE session = 's2' AND item = '1'",
	  "s2: broken  " },
	{ "DELETE FROM exports WHERE id = 'e1'; DELETE FROM chain WHERE session = 's1' AND position = " LAST_OF_S1,
	  "s1: head " },
	{ "DELETE FROM exports WHERE id = 'e1'; DELETE FROM chain WHERE session = 's1' AND position = " LAST_OF_S1 ";"
	  "UPDATE chain_heads SET position = position - 1, link = (SELECT link FROM chain WHERE session = 's1' AND position = " LAST_OF_S1
	  ") WHERE session = 's1'",
	  "s1: head " },
	{ "UPDATE chain SET content = 'x' WHERE session = 's1' AND position = 2", "s1: broken  2\n" },
	{ "UPDATE chain SET kind = 'export' WHERE session = 's1' AND position = 2", "s1: broken  2\n" },
	{ "UPDATE chain SET position = 99 WHERE session = 's1' AND position = 2", "s1: broken " },
	{ "INSERT INTO chain VALUES ('s1', 99, 'execution', '9', 'c', 'l'); " NEW_EXECUTION
	  "('s1', 9, 'execute_code', 1, 2, 0, 0)",
	  "s1: broken  99\n" },
	{ "DELETE FROM chain_heads WHERE session = 's1'", "s1: head " },
	{ "UPDATE chain_heads SET seal = 'x' WHERE session = 's1'", "s1: head " },
	{ "DELETE FROM chain WHERE session = 's1' AND position = 1; INSERT INTO chain_tombstones "
	  "VALUES ('s1', 1, 'l', 1, 1, 's')",
	  "s1: tombstone " },
	/* All of a session, or of the store. */
	{ "DELETE FROM executions WHERE session = 's1'; DELETE FROM exports WHERE session = 's1'; "
	  "DELETE FROM chain WHERE session = 's1'; DELETE FROM chain_heads WHERE session = 's1'",
	  ": removed session s1\n" },
	{ "DELETE FROM chain WHERE session = '' AND item = 's1'", ": broken " },
	{ "DELETE FROM chain WHERE session = '' AND item = 's1'", "s1: added session s1\n" },
	{ "DELETE FROM chain; DELETE FROM chain_heads", "s1: added execution 1\n" },
	{ "DELETE FROM chain; DELETE FROM chain_heads WHERE session <> ''; UPDATE chain_heads SET position = 0, link = '', seal = ''",
	  "s1: added execution 1\n" },
};

static const char *const tables[] = { "executions", "exports", "receipts", "chain", "chain_heads", "chain_tombstones" };

/* Runs the statements for each table, with the table's name inserted in the format. */
static void for_all_tables(const char *format)
{
	AUTO(buf_release) struct buf sql = { 0 };
	buf_add_str(&sql, "BEGIN; ");
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		buf_printf(&sql, format, tables[i]);
	buf_add_str(&sql, "COMMIT");
	bench_sql(&b, buf_str(&sql));
}

#define SAVE "CREATE TABLE saved_%1$s AS SELECT * FROM %1$s; "
#define RESTORE "DELETE FROM %1$s; INSERT INTO %1$s SELECT * FROM saved_%1$s; "

/* Whether verify() finds nothing except gaps, which come from the numbers that the test itself uses. */
static bool covered_up(void)
{
	AUTO(freep) char *lines = xstrdup(verify());
	char *rest = lines;
	for (const char *line; (line = strsep(&rest, "\n"));)
		if (*line && !strstr(line, ": gap "))
			return false;
	return true;
}

/* evidence: history-tampering */
static void every_change_of_the_log_is_found(void **state)
{
	write_log();
	for_all_tables(SAVE);
	for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
		for_all_tables(RESTORE);
		bench_sql(&b, acts[i].sql);
		verify();
		if (!strstr(found, acts[i].finding))
			fail_msg("%s: '%s' is not in: %s", acts[i].sql, acts[i].finding, found);
		/* Later writes continue the chain and hide nothing. */
		execution("s1", 40, 41);
		export("s1", "e40");
		ask_executions(&b, &a, "s1", 10);
		assert_int_equal(a.executions[a.n - 1].seq, 40);
		if (covered_up())
			fail_msg("%s: covered up", acts[i].sql);
	}
}

/* --- triggers that swallow records ------------------------------------------------------------------------------- */

#define SQLITE_TRIGGER(table) "CREATE TRIGGER t BEFORE INSERT ON " table " BEGIN SELECT RAISE(IGNORE); END"
#define POSTGRES_TRIGGER(table)                                                                                        \
	"CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; "                     \
	"CREATE TRIGGER t BEFORE INSERT ON " table " FOR EACH ROW EXECUTE FUNCTION nothing()"

static void swallow(const char *on_sqlite, const char *on_postgres)
{
	bench_sql(&b, bench_url ? on_postgres : on_sqlite);
}

/* evidence: history-triggers */
static void a_record_that_a_trigger_swallows_is_found(void **state)
{
	write_log();
	swallow(SQLITE_TRIGGER("executions"), POSTGRES_TRIGGER("executions"));
	execution("s1", 4, 41);
	ask_executions(&b, &a, "s1", 10);
	assert_int_equal(a.n, 3);
	assert_found(": schema trigger t\n");
	/* A link was written without its record. */
	assert_non_null(strstr(found, "s1: removed execution 4\n"));
	bench_sql(&b, bench_url ? "DROP TRIGGER t ON executions; DROP FUNCTION nothing" : "DROP TRIGGER t");
	assert_found("s1: removed execution 4\n");
	assert_null(strstr(found, "schema"));
}

/* evidence: history-triggers */
static void an_export_that_a_trigger_swallows_is_not_acknowledged(void **state)
{
	write_log();
	swallow(SQLITE_TRIGGER("exports"), POSTGRES_TRIGGER("exports"));
	ask_export_add(&b, &a,
		       &(struct export_record){
			       .id = "e9", .thread = "t1", .session = "s1", .path = "/a", .name = "a", .hash = "abc" });
	assert_fails(&a, FAIL_STORE, "did not store");
	swallow("DROP TRIGGER t; " SQLITE_TRIGGER("chain"),
		"DROP TRIGGER t ON exports; CREATE TRIGGER t BEFORE INSERT ON chain FOR EACH ROW EXECUTE FUNCTION nothing()");
	ask_export_add(&b, &a,
		       &(struct export_record){
			       .id = "e9", .thread = "t1", .session = "s1", .path = "/a", .name = "a", .hash = "abc" });
	assert_fails(&a, FAIL_STORE, "did not store");
	bench_sql(&b, bench_url ? "DROP TRIGGER t ON chain; DROP FUNCTION nothing" : "DROP TRIGGER t");
}

/* evidence: history-triggers */
static void a_missing_number_is_found(void **state)
{
	write_log();
	execution("s1", 7, 71);
	execution("s3", 2, 21);
	ask_executions(&b, &a, "s3", 10);
	assert_found("s1: gap execution 4-6\n");
	assert_non_null(strstr(found, "s3: gap execution 1\n"));
}

static void unrecorded(const char *session, uint64_t last)
{
	store_execution_put(b.store, &(struct execution_record){ .session = session,
								 .seq = last,
								 .tool = TOOL_UNKNOWN,
								 .started = 1,
								 .ended = 1,
								 .ending = "unrecorded",
								 .up_to = true });
}

/* A server was killed before it wrote the records of the last runs. */
static void numbers_of_a_killed_server_are_not_a_gap(void **state)
{
	write_log();
	unrecorded("s1", 3);
	unrecorded("s1", 5);
	execution("s1", 4, 41); /* reported by PID 1 later */
	execution("s1", 6, 61);
	do
		ask_executions(&b, &a, "s1", 10);
	while (a.executions[a.n - 1].seq != 6);
	assert_int_equal(a.n, 6);
	assert_string_equal(a.executions[2].tool, "execute_code");
	assert_string_equal(a.executions[3].tool, "execute_code");
	assert_string_equal(a.executions[3].ending, "error");
	assert_string_equal(a.executions[4].tool, TOOL_UNKNOWN);
	assert_string_equal(a.executions[4].ending, "unrecorded");
	assert_string_equal(verify(), "");
	unrecorded("s1", UINT32_MAX / 2);
	execution("s1", UINT32_MAX / 2 + 1, 1);
	do
		ask_executions(&b, &a, "s1", 1000);
	while (a.executions[a.n - 1].seq <= UINT32_MAX / 2);
	assert_in_range(a.n, 7, 300);
	assert_found("s1: gap execution ");
}

/* evidence: history-triggers */
static void changes_of_the_schema_are_found(void **state)
{
	static const struct {
		const char *sqlite, *postgres, *finding;
	} strangers[] = {
		{ "ALTER TABLE receipts RENAME TO r; CREATE VIEW receipts AS SELECT * FROM r",
		  "ALTER TABLE receipts RENAME TO r; CREATE VIEW receipts AS SELECT * FROM r",
		  ": schema view receipts\n" },
		{ "DROP VIEW receipts; ALTER TABLE r RENAME TO receipts; ALTER TABLE cells RENAME TO c; "
		  "CREATE TABLE cells (session TEXT UNIQUE ON CONFLICT IGNORE)",
		  "DROP VIEW receipts; ALTER TABLE r RENAME TO receipts; ALTER TABLE cells ENABLE ROW LEVEL SECURITY",
		  " cells\n" },
		{ "CREATE TRIGGER later AFTER UPDATE ON sessions BEGIN SELECT 1; END",
		  "CREATE RULE later AS ON INSERT TO executions DO INSTEAD NOTHING", " later\n" },
	};
	write_log();
	for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
		swallow(strangers[i].sqlite, strangers[i].postgres);
		assert_found(strangers[i].finding);
	}
}

/* Tables of other programs in the same database, and the triggers of their references to ours. */
static void tables_of_others_are_not_findings(void **state)
{
	write_log();
	swallow("CREATE TABLE notes (text TEXT); CREATE TRIGGER n AFTER INSERT ON notes BEGIN SELECT 1; END",
		"CREATE TABLE notes (session TEXT REFERENCES sessions (id)); CREATE SCHEMA IF NOT EXISTS others; "
		"CREATE TABLE IF NOT EXISTS others.executions (n INT); "
		"CREATE OR REPLACE RULE r AS ON INSERT TO others.executions DO INSTEAD NOTHING");
	assert_string_equal(verify(), "");
	if (bench_url)
		bench_sql(&b, "DROP SCHEMA others CASCADE");
}

static void a_removed_chain_is_restarted_and_reported(void **state)
{
	write_log();
	bench_sql(&b, "DELETE FROM chain; DELETE FROM chain_heads");
	execution("s1", 4, 0);
	ask_executions(&b, &a, "s1", 10);
	assert_found(": restarted ");
	assert_int_equal(seen.uncovered, 8);
}

/* evidence: receipts */
static void a_forged_receipt_is_rejected(void **state)
{
	put_receipt("refused");
	bench_sql(&b, "UPDATE receipts SET result = 'fine'");
	assert_null(get_receipt("b"));
	bench_sql(&b, "DELETE FROM chain WHERE kind = 'receipt'; UPDATE receipts SET result = 'refused'");
	assert_null(get_receipt("b"));
}

/* evidence: history-tampering */
static void another_key_does_not_verify_the_log(void **state)
{
	write_log();
	b.config.encryption_key = xstrdup("another key, of another server");
	bench_restart(&b);
	assert_found("s1: head ");
	assert_null(get_receipt("b"));
}

/* --- pruning ----------------------------------------------------------------------------------------------------- */

static void on_pruned(void *ctx, uint64_t n, const struct fail *f)
{
	assert_no_failure(f);
	*(uint64_t *)ctx = n;
	loop_stop(b.loop, 0);
}

static uint64_t prune(uint64_t before)
{
	uint64_t n = 0;
	store_prune(b.store, before, on_pruned, &n);
	loop_run(b.loop);
	return n;
}

/* Both sessions have ended, at 100 and at 200. */
static void end_sessions(void)
{
	bench_sql(
		&b,
		"INSERT INTO sessions (id, thread, runtime, owner, owner_pid, fence, state, lease_until, created, used, ends, ended, busy) "
		"VALUES ('s1', 't1', 'python', 'o', 1, 1, 'ended', 0, 1, 1, 1, 100, 0), "
		"('s2', 't1', 'python', 'o', 1, 1, 'ended', 0, 1, 1, 1, 200, 0)");
}

static void on_cells(void *ctx, const struct cell_list *list, const struct fail *f)
{
	struct buf *out = ctx;
	assert_no_failure(f);
	for (size_t i = 0; i < list->n; i++)
		buf_printf(out, "%llu %s %s\n", (unsigned long long)list->v[i].seq, list->v[i].output ? "left" : "ran",
			   list->v[i].content);
	loop_stop(b.loop, 0);
}

static void assert_cells(const char *session, const char *expected)
{
	AUTO(buf_release) struct buf out = { 0 };
	store_cells(b.store, session, /* seq= */ 0, on_cells, &out);
	loop_run(b.loop);
	assert_string_equal(buf_str(&out), expected);
}

static void cells_are_deleted_with_their_record(void **state)
{
	write_log();
	end_sessions();
	store_cell_put(b.store, &(struct cell_piece){ .session = "s1", .seq = 2, .content = "late" });
	store_cell_put(b.store, &(struct cell_piece){ .session = "s1", .seq = 1, .content = "1 + 1" });
	store_cell_put(b.store, &(struct cell_piece){ .session = "s2", .seq = 1, .content = "other" });
	struct cell_piece pieces[] = {
		{ .session = "s1", .seq = 1, .output = true, .content = "b", .at = 1 },
		{ .session = "s1", .seq = 1, .output = true, .content = "a", .at = 2 },
		{ .session = "s1", .seq = 1, .output = true, .content = "a", .at = 2 }, /* repeated */
		{ .session = "s1", .seq = 1, .output = true, .content = "a", .at = 3 },
	};
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
		store_cell_put(b.store, &pieces[i]);
	assert_cells("s1", "1 ran 1 + 1\n1 left b\n1 left a\n1 left a\n2 ran late\n");
	assert_string_equal(verify(), "");
	assert_int_equal(prune(101), 3);
	assert_cells("s1", "");
	assert_cells("s2", "1 ran other\n");
}

struct maker {
	const char *text;
	pid_t thread;
	unsigned made, released;
};

static char *make_piece(void *ctx)
{
	struct maker *m = ctx;
	m->thread = gettid();
	m->made++;
	return m->text ? xstrdup(m->text) : NULL;
}

static void release_piece(void *ctx)
{
	((struct maker *)ctx)->released++;
}

/* evidence: loop-work */
static void a_piece_is_made_by_a_worker(void **state)
{
	struct maker some = { .text = "[1]" }, none = { 0 };
	write_log();
	struct cell_piece piece = {
		.session = "s1", .seq = 1, .output = true, .make = make_piece, .release = release_piece, .ctx = &some
	};
	store_cell_put(b.store, &piece);
	piece.ctx = &none;
	store_cell_put(b.store, &piece);
	assert_cells("s1", "1 left [1]\n");
	assert_int_equal(some.made, 1);
	assert_int_equal(some.released, 1);
	assert_int_equal(none.made, 1);
	assert_int_equal(none.released, 1);
	assert_int_not_equal(some.thread, gettid());
}

static void a_deleted_export_stays_in_the_log(void **state)
{
	write_log();
	export("s1", "deleted");
	ask_export_delete(&b, &a, &(struct export_record){ .id = "deleted", .session = "s1", .hash = "abc" }, NULL);
	assert_int_equal(a.fail.kind, FAIL_NONE);
	assert_string_equal(verify(), "");
	assert_int_equal(seen.records, 10);
}

/* evidence: history-tampering */
static void pruned_records_leave_a_tombstone(void **state)
{
	write_log();
	end_sessions();
	assert_int_equal(prune(100), 0);
	assert_int_equal(prune(101), 3);
	assert_int_equal(prune(101), 0);
	assert_string_equal(verify(), "");
	assert_int_equal(seen.records, 6);
	assert_int_equal(seen.pruned, 3);
	ask_executions(&b, &a, "s1", 10);
	assert_int_equal(a.n, 0);
	execution("s1", 4, 0);
	ask_executions(&b, &a, "s1", 10);
	assert_int_equal(prune(1000), 4);
	assert_string_equal(verify(), "");
	assert_int_equal(seen.pruned, 7);
	assert_int_equal(seen.records, 3);
	bench_sql(&b, "UPDATE chain_tombstones SET pruned = 9 WHERE session = 's1'");
	assert_found("s1: tombstone ");
	bench_sql(&b, "DELETE FROM chain_tombstones WHERE session = 's1'");
	assert_found("s1: broken ");
	bench_sql(&b, "DELETE FROM exports WHERE session = 's2'");
	assert_found("s2: removed export e2\n");
}

static void records_that_were_tampered_with_are_not_pruned(void **state)
{
	write_log();
	end_sessions();
	bench_sql(&b, "UPDATE executions SET ending = 'ok' WHERE session = 's1' AND seq = 2");
	assert_int_equal(prune(1000), 3);
	assert_found("s1: changed execution 2\n");
	ask_executions(&b, &a, "s1", 10);
	assert_int_equal(a.n, 3);
}

/* --- older stores ------------------------------------------------------------------------------------------------ */

static void records_from_before_the_chain_are_counted(void **state)
{
	write_log();
	bench_restart(&b);
	bench_sql(&b, BENCH_DROP_AFTER_4 "UPDATE schema_version SET version = 4");
	execution("s1", 4, 0);
	ask_executions(&b, &a, "s1", 10);
	assert_int_equal(a.n, 4);
	assert_string_equal(verify(), "");
	assert_int_equal(seen.uncovered, 8);
	assert_int_equal(seen.records, 1);
	bench_sql(&b, NEW_EXECUTION "('s1', 9, 'execute_code', 1, 2, 0, 0)");
	assert_found(": added  1\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, free_all)

static const struct CMUnitTest tests[] = {
	TEST(an_untouched_log_verifies),
	TEST(every_change_of_the_log_is_found),
	TEST(a_record_that_a_trigger_swallows_is_found),
	TEST(an_export_that_a_trigger_swallows_is_not_acknowledged),
	TEST(tables_of_others_are_not_findings),
	TEST(a_missing_number_is_found),
	TEST(numbers_of_a_killed_server_are_not_a_gap),
	TEST(changes_of_the_schema_are_found),
	TEST(a_removed_chain_is_restarted_and_reported),
	TEST(a_forged_receipt_is_rejected),
	TEST(another_key_does_not_verify_the_log),
	TEST(cells_are_deleted_with_their_record),
	TEST(a_piece_is_made_by_a_worker),
	TEST(a_deleted_export_stays_in_the_log),
	TEST(pruned_records_leave_a_tombstone),
	TEST(records_that_were_tampered_with_are_not_pruned),
	TEST(records_from_before_the_chain_are_counted),
};

int main(void)
{
	return cmocka_run_group_tests_name("the chain on SQLite", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("the chain on Postgres", tests, bench_start_postgres, bench_end_postgres);
}
