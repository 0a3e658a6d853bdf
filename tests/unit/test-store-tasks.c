/* manager/store: tasks, on SQLite and on Postgres. */
#include "base/alloc.h"
#include "tests/unit/store-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct {
	bool done;
	struct fail fail;
	size_t n;
	struct task_record row; /* the first; its texts are copies */
	char *id, *session, *result;
} got;

static void forget(void)
{
	fail_release(&got.fail);
	free(got.id);
	free(got.session);
	free(got.result);
	memset(&got, 0, sizeof(got));
}

static int setup(void **state)
{
	bench_init(&b);
	return 0;
}

static int teardown(void **state)
{
	forget();
	bench_release(&b);
	return 0;
}

static void end(const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	loop_stop(b.loop, 0);
}

static void on_done(void *ctx UNUSED, const struct fail *f)
{
	end(f);
}

static void keep(const struct task_record *row)
{
	got.row = *row;
	got.id = xstrdup(row->id);
	got.session = xstrdup(row->session);
	got.result = row->result ? xstrdup(row->result) : NULL;
}

static void on_task(void *ctx UNUSED, const struct task_record *row, const struct fail *f)
{
	got.n = row != NULL;
	if (row)
		keep(row);
	end(f);
}

static void on_tasks(void *ctx UNUSED, const struct task_list *list, const struct fail *f)
{
	got.n = list ? list->n : 0;
	if (got.n)
		keep(&list->v[0]);
	end(f);
}

static void await(void)
{
	while (!got.done)
		loop_run(b.loop);
	if (got.fail.kind)
		fail_msg("%s", got.fail.message);
}

static struct task_record task(const char *id, uint64_t seq, uint64_t expires)
{
	return (struct task_record){ .id = id,
				     .thread = "t1",
				     .session = "s1",
				     .seq = seq,
				     .tool = "execute_code",
				     .timeout = 60,
				     .started = 4,
				     .created = 5,
				     .changed = 5,
				     .expires = expires };
}

static void add(const char *id, uint64_t seq, uint64_t expires)
{
	struct task_record row = task(id, seq, expires);
	forget();
	store_task_add(b.store, &row, on_done, NULL);
	await();
}

static void change(const char *id, enum task_state state, const char *result)
{
	forget();
	store_task_change(b.store, &(struct task_record){ .id = id, .state = state, .changed = 9, .result = result },
			  on_done, NULL);
	await();
}

static void get(const char *thread, const char *id)
{
	forget();
	store_task_get(b.store, thread, id, on_task, NULL);
	await();
}

static void list(const char *session)
{
	forget();
	store_tasks(b.store, session, on_tasks, NULL);
	await();
}

static void a_task_survives_a_restart(void **state)
{
	add("k1", 7, UINT32_MAX * 1000ull);
	bench_restart(&b);
	get("t1", "k1");
	assert_int_equal(got.n, 1);
	assert_string_equal(got.id, "k1");
	assert_string_equal(got.session, "s1");
	assert_int_equal(got.row.seq, 7);
	assert_int_equal(got.row.timeout, 60);
	assert_int_equal(got.row.state, TASK_WORKING);
	assert_int_equal(got.row.started, 4);
	assert_int_equal(got.row.created, 5);
	assert_null(got.result);
	get("t2", "k1"); /* another conversation's task is not visible */
	assert_int_equal(got.n, 0);
}

/* evidence: tasks */
static void results_are_kept_sealed(void **state)
{
	add("k1", 1, 0);
	change("k1", TASK_ENDED, "{\"said\":\"hunter2 ☃\"}");
	bench_restart(&b);
	get("t1", "k1");
	assert_int_equal(got.row.state, TASK_ENDED);
	assert_int_equal(got.row.changed, 9);
	assert_string_equal(got.result, "{\"said\":\"hunter2 ☃\"}");
	/* The result of another task does not open. */
	add("k2", 2, 0);
	bench_sql(
		&b,
		"UPDATE tasks SET result = (SELECT result FROM tasks WHERE id = 'k1'), state = 'ended' WHERE id = 'k2'");
	forget();
	store_task_get(b.store, "t1", "k2", on_task, NULL);
	while (!got.done)
		loop_run(b.loop);
	assert_int_equal(got.fail.kind, FAIL_STORE);
	bench_sql(&b, "UPDATE tasks SET result = 'hunter2' WHERE result LIKE '%hunter2%'");
	get("t1", "k1");
	assert_string_equal(got.result, "{\"said\":\"hunter2 ☃\"}");
}

static void the_first_end_is_kept(void **state)
{
	add("k1", 1, 0);
	change("k1", TASK_CANCELLING, NULL);
	change("k1", TASK_CANCELLED, NULL);
	change("k1", TASK_ENDED, "late");
	get("t1", "k1");
	assert_int_equal(got.row.state, TASK_CANCELLED);
	assert_null(got.result);
}

static void tasks_of_a_session_are_listed(void **state)
{
	add("k1", 1, 0);
	add("k2", 2, 0);
	add("k2", 2, 0); /* recorded twice, kept once */
	list("s1");
	assert_int_equal(got.n, 2);
	assert_string_equal(got.id, "k2");
	list("s2");
	assert_int_equal(got.n, 0);
	store_task_remove(b.store, "k2");
	list("s1");
	assert_int_equal(got.n, 1);
}

static void old_tasks_are_removed(void **state)
{
	add("old", 1, 1000);
	get("t1", "old");
	assert_int_equal(got.n, 1);
	add("new", 2, store_now_ms() - 1000); /* its lifetime is over, but it is still recorded */
	add("newer", 3, 0);
	list("s1");
	assert_int_equal(got.n, 2);
	get("t1", "old");
	assert_int_equal(got.n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static const struct CMUnitTest tests[] = {
	TEST(a_task_survives_a_restart),     TEST(results_are_kept_sealed), TEST(the_first_end_is_kept),
	TEST(tasks_of_a_session_are_listed), TEST(old_tasks_are_removed),
};

int main(void)
{
	return cmocka_run_group_tests_name("tasks on SQLite", tests, NULL, NULL) +
	       cmocka_run_group_tests_name("tasks on Postgres", tests, bench_start_postgres, bench_end_postgres);
}
