/* The manager on the fake engine: runs that become tasks, their records, and servers that follow each other. */
#include <pthread.h>

#include "base/alloc.h"
#include "kernels/protocol.h"
#include "manager/manager.h"
#include "tests/unit/manager-bench.h"
#include "tests/unit/unit.h"

static struct bench b;
static struct fake *fake;
static struct manager *manager;
static struct conversation *conversation;
static char *session;

/* The results of a call, and the events of the conversation. */
static struct {
	bool done, became_task;
	struct fail fail;
	char *task, *result;
	enum task_state state;
	enum ending ending;
	size_t earlier;
	uint64_t ttl_ms, run;
} got;
static struct {
	unsigned changes, words;
	enum task_state state;
} told;

static void forget(void)
{
	fail_release(&got.fail);
	free(got.task);
	free(got.result);
	memset(&got, 0, sizeof(got));
}

/* --- a face ------------------------------------------------------------------------------------------------------ */

static pthread_t worded_in;
/* If true, the turn of the loop ends once a result has been worded, before it can be stored. */
static bool stops_at_words;

static char *word(const struct config *config UNUSED, const struct task_info *task, const struct run_result *result,
		  const struct fail *f)
{
	told.words++;
	worded_in = pthread_self();
	if (stops_at_words)
		loop_stop(b.loop, 0);
	assert_string_equal(task->session_id, session);
	return result ? xasprintf("%s %s", ending_name(result->ending), result->stdout_text) :
			xasprintf("failed %s", cause_name(cause_of(f)));
}

static void on_change(void *ctx UNUSED, const struct task_info *task)
{
	told.changes++;
	told.state = task->state;
}

static void open_server(void)
{
	manager = manager_new(b.loop, &b.config);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t" });
	conversation_take_tasks(conversation, &(struct task_handler){ .word = word, .on_change = on_change });
}

static void next_server(void)
{
	manager_free(manager);
	open_server();
}

static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_msg("%s", f->message);
	session = xstrdup(result->session->id);
}

static void do_nothing(struct fake_container *c UNUSED, struct fake_call *call UNUSED)
{
}

static int setup(void **state)
{
	fake = manager_bench_begin(&b);
	manager_bench_load(&b);
	memset(&told, 0, sizeof(told));
	open_server();
	assert_non_null(manager_create(
		conversation, &(struct create_request){ .runtime = runtime_find("python"), .on_done = on_created },
		&got.fail));
	FAKE_UNTIL(fake, got.done);
	fake_on_call = do_nothing;
	return 0;
}

static int teardown(void **state)
{
	manager_free(manager);
	forget();
	free(take_ptr(session));
	manager_bench_end(&b, fake);
	return 0;
}

/* --- calls ------------------------------------------------------------------------------------------------------- */

static void on_ran(void *ctx UNUSED, const struct run_result *result, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	if (!result)
		return;
	got.ending = result->ending;
	got.earlier = result->n_earlier;
}

static void keep(const struct task_info *task)
{
	free(got.task);
	free(got.result);
	got.task = xstrdup(task->id);
	got.result = task->result ? xstrdup(task->result) : NULL;
	got.state = task->state;
	got.ttl_ms = task->ttl_ms;
	got.run = task->run;
}

static void on_task(void *ctx UNUSED, const struct task_info *task)
{
	got.done = got.became_task = true;
	keep(task);
}

static const char *face; /* of the next task; NULL = "mcp" */

static struct op *start_run(uint64_t task_after)
{
	forget();
	return manager_run(conversation,
			   &(struct run_request){ .kind = RUN_CODE,
						  .session_id = session,
						  .text = "1",
						  .len = 1,
						  .timeout_seconds = 60,
						  .task_after_seconds = task_after,
						  .task_face = face,
						  .on_task = on_task,
						  .on_done = on_ran },
			   &got.fail);
}

/* A cell that becomes a task at once; the caller owns its id. */
static char *make_task(void)
{
	assert_non_null(start_run(0));
	FAKE_UNTIL(fake, got.done);
	assert_true(got.became_task);
	assert_int_equal(got.state, TASK_WORKING);
	return xstrdup(got.task);
}

static void on_asked(void *ctx UNUSED, const struct task_info *task, const struct fail *f)
{
	got.done = true;
	if (f)
		fail_copy(&got.fail, f);
	else
		keep(task);
}

static void ask(struct conversation *c, const char *id, bool cancel)
{
	forget();
	if (manager_task(c, &(struct task_request){ .id = id, .cancel = cancel, .on_done = on_asked }, &got.fail))
		FAKE_UNTIL(fake, got.done);
}

static void get(const char *id)
{
	ask(conversation, id, /* cancel= */ false);
}

static struct fake_call *call(uint32_t number)
{
	return fake_call_find(fake_only(fake), number);
}

/* The run prints this and ends. Waits until its output is kept and acknowledged. */
static void end_run(uint32_t number, const char *out, const char *ending)
{
	fake_call_out(fake_only(fake), call(number), out);
	fake_call_end(fake_only(fake), call(number), ending);
	FAKE_UNTIL(fake, !call(number));
}

static void assert_result(const char *id, const char *result)
{
	get(id);
	if (got.fail.kind)
		fail_msg("%s", got.fail.message);
	assert_int_equal(got.state, TASK_ENDED);
	assert_string_equal(got.result, result);
}

/* The next call reports no other run. */
static void assert_nothing_left_to_tell(void)
{
	fake_on_call = NULL;
	forget();
	assert_non_null(start_run(30));
	FAKE_UNTIL(fake, got.done);
	assert_int_equal(got.ending, ENDING_OK);
	assert_int_equal(got.earlier, 0);
	FAKE_UNTIL(fake, !call(fake_only(fake)->pid1->last_call)); /* a report is acknowledged a moment later */
}

/* --- on one server ----------------------------------------------------------------------------------------------- */

static void a_run_becomes_a_task_after_its_time(void **state)
{
	assert_non_null(start_run(25));
	FAKE_UNTIL(fake, call(1));
	loop_skip(b.loop, 24000);
	assert_false(got.done);
	loop_skip(b.loop, 2000);
	FAKE_UNTIL(fake, got.done);
	assert_true(got.became_task);
	assert_int_equal(got.run, 1);
	assert_in_range(got.ttl_ms, 1000 * (b.config.max_lifetime - 30), 1000 * b.config.max_lifetime);
	fake_on_call = NULL;
	assert_non_null(start_run(25));
	FAKE_UNTIL(fake, got.done);
	assert_false(got.became_task); /* it ended in time */
	assert_int_equal(got.earlier, 0);
}

static void a_result_is_repeated_and_not_reported_elsewhere(void **state)
{
	AUTO(freep) char *id = make_task();
	get(id);
	assert_int_equal(got.state, TASK_WORKING);
	assert_null(got.result);
	end_run(1, "out", "error");
	assert_int_equal(told.changes, 1);
	assert_int_equal(told.state, TASK_ENDED);
	assert_result(id, "error out");
	assert_result(id, "error out");
	assert_nothing_left_to_tell();
	assert_result(id, "error out");
	assert_int_equal(told.words, 1);
}

/* evidence: loop-work */
/* The task is reported as working until the worker is done. */
static void a_large_end_is_worded_by_a_worker(void **state)
{
	enum { LARGE = 400 << 10 };
	AUTO(freep) char *id = make_task(), *data = xmalloc(LARGE + 1);
	memset(data, 'A', LARGE);
	data[LARGE] = '\0';
	AUTO(freep) char *payload = xasprintf("{\"data\": {\"image/png\": \"%s\"}}", data);
	fake_call_give(fake_only(fake), call(1), FRAME_DISPLAY, payload);
	end_run(1, "out", "ok");
	assert_int_equal(told.words, 1);
	assert_false(pthread_equal(worded_in, pthread_self()));
	assert_int_equal(told.changes, 1);
	assert_result(id, "ok out");
	assert_nothing_left_to_tell();
	fake_on_call = do_nothing;
	AUTO(freep) char *small = make_task();
	end_run(3, "out", "ok");
	assert_true(pthread_equal(worded_in, pthread_self()));
}

static void a_cancelled_task_has_no_result(void **state)
{
	AUTO(freep) char *id = make_task();
	ask(conversation, id, /* cancel= */ true);
	assert_true(got.state == TASK_CANCELLING || got.state == TASK_CANCELLED); /* the run may have ended by then */
	FAKE_UNTIL(fake, !call(1));
	get(id);
	assert_int_equal(got.state, TASK_CANCELLED);
	assert_null(got.result);
	ask(conversation, id, /* cancel= */ true); /* a second cancel changes nothing */
	assert_int_equal(got.state, TASK_CANCELLED);
	assert_int_equal(told.changes, 1);
}

static void a_task_that_ended_before_the_cancel_has_its_result(void **state)
{
	fake_on_interrupt = do_nothing;
	AUTO(freep) char *id = make_task();
	ask(conversation, id, /* cancel= */ true);
	end_run(1, "done", "ok");
	assert_result(id, "ok done");
}

/* evidence: tasks */
static void a_task_is_visible_to_its_conversation_only(void **state)
{
	struct conversation *other = conversation_open(manager, &(struct conversation_spec){ .id = "o" });
	AUTO(freep) char *id = make_task();
	ask(other, id, /* cancel= */ true);
	assert_int_equal(got.fail.kind, FAIL_NOT_FOUND);
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_TASK);
	end_run(1, "", "ok");
	ask(other, id, /* cancel= */ false);
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_TASK);
	get("not an id");
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_TASK);
	get(session);
	assert_int_equal(cause_of(&got.fail), CAUSE_NO_TASK);
}

static void a_dead_session_ends_its_tasks(void **state)
{
	AUTO(freep) char *id = make_task();
	fake_die(fake_only(fake), 137, /* oom= */ true);
	FAKE_UNTIL(fake, told.changes);
	assert_result(id, "container_died ");
}

static void on_stopped(void *ctx UNUSED, const struct fail *f UNUSED)
{
	got.done = true;
}

static void a_stopped_session_ends_its_tasks(void **state)
{
	AUTO(freep) char *id = make_task();
	forget();
	assert_non_null(manager_stop(
		conversation, &(struct stop_request){ .session_id = session, .on_done = on_stopped }, &got.fail));
	FAKE_UNTIL(fake, got.done && told.changes);
	assert_result(id, "interrupted ");
}

static void a_task_expires(void **state)
{
	AUTO(freep) char *id = make_task();
	end_run(1, "", "ok");
	bench_sql(&b, "UPDATE tasks SET expires = 1000");
	get(id);
	assert_int_equal(got.fail.kind, FAIL_NOT_FOUND);
	assert_int_equal(cause_of(&got.fail), CAUSE_TASK_EXPIRED);
}

static void a_cancelled_request_leaves_no_task(void **state)
{
	struct op *op = start_run(0);
	FAKE_UNTIL(fake, call(1));
	op_cancel(op);
	FAKE_UNTIL(fake, !call(1));
	assert_false(got.done);
	assert_nothing_left_to_tell();
}

/* --- an unreachable store ----------------------------------------------------------------------------------------- */

static void without_a_record_the_caller_waits(void **state)
{
	bench_sql(&b, "ALTER TABLE tasks RENAME TO gone");
	assert_non_null(start_run(25));
	FAKE_UNTIL(fake, call(1));
	loop_skip(b.loop, 30000);
	assert_false(got.done);
	end_run(1, "", "ok");
	FAKE_UNTIL(fake, got.done);
	assert_false(got.became_task);
	assert_int_equal(got.ending, ENDING_OK);
}

static void an_unrecorded_end_is_not_acknowledged(void **state)
{
	AUTO(freep) char *id = make_task();
	bench_sql(&b, "ALTER TABLE tasks RENAME TO gone");
	fake_call_out(fake_only(fake), call(1), "out");
	fake_call_end(fake_only(fake), call(1), "ok");
	FAKE_UNTIL(fake, told.changes);
	assert_result(id, "ok out");
	loop_skip(b.loop, 20000);
	assert_non_null(call(1));
	bench_sql(&b, "ALTER TABLE gone RENAME TO tasks");
	loop_skip(b.loop, 6000);
	FAKE_UNTIL(fake, !call(1));
	assert_result(id, "ok out");
	assert_int_equal(told.changes, 1);
}

/* --- on the next server ------------------------------------------------------------------------------------------ */

static void a_task_outlives_its_server(void **state)
{
	AUTO(freep) char *id = make_task();
	fake_call_out(fake_only(fake), call(1), "before ");
	next_server();
	get(id);
	if (got.fail.kind)
		fail_msg("%s", got.fail.message);
	assert_int_equal(got.state, TASK_WORKING);
	loop_skip(b.loop, 59000); /* PID 1 applies its time limit */
	assert_non_null(call(1));
	end_run(1, "after", "ok");
	assert_result(id, "ok before after");
	assert_nothing_left_to_tell();
	next_server();
	assert_result(id, "ok before after");
	assert_nothing_left_to_tell();
}

static void an_end_between_two_servers_is_kept(void **state)
{
	AUTO(freep) char *id = make_task();
	manager_free(manager);
	fake_call_out(fake_only(fake), call(1), "out");
	fake_call_end(fake_only(fake), call(1), "ok");
	open_server();
	assert_nothing_left_to_tell();
	FAKE_UNTIL(fake, !call(1));
	assert_result(id, "ok out");
}

/* Killed after the end was recorded and before it was acknowledged. */
static void a_recorded_end_is_not_reported_again(void **state)
{
	AUTO(freep) char *id = make_task();
	fake_call_out(fake_only(fake), call(1), "out");
	fake_call_end(fake_only(fake), call(1), "ok");
	FAKE_UNTIL(fake, told.changes);
	assert_non_null(call(1));
	next_server();
	assert_nothing_left_to_tell();
	FAKE_UNTIL(fake, !call(1));
	assert_result(id, "ok out");
	assert_int_equal(told.words, 1);
}

/* Killed before the end was recorded. */
static void an_unrecorded_end_is_replayed(void **state)
{
	AUTO(freep) char *id = make_task();
	fake_call_out(fake_only(fake), call(1), "out");
	fake_call_end(fake_only(fake), call(1), "ok");
	stops_at_words = true;
	FAKE_UNTIL(fake, told.words);
	stops_at_words = false;
	assert_int_equal(told.changes, 0);
	next_server();
	assert_nothing_left_to_tell();
	assert_result(id, "ok out");
}

static void a_cancel_survives_its_server(void **state)
{
	fake_on_interrupt = do_nothing;
	AUTO(freep) char *id = make_task();
	ask(conversation, id, /* cancel= */ true);
	get(id);
	fake_on_interrupt = NULL;
	next_server();
	get(id);
	FAKE_UNTIL(fake, !call(1));
	get(id);
	assert_int_equal(got.state, TASK_CANCELLED);
}

static void a_death_between_two_servers_ends_the_task(void **state)
{
	AUTO(freep) char *id = make_task();
	manager_free(manager);
	fake_vanish(fake_only(fake));
	open_server();
	get(id);
	FAKE_UNTIL(fake, told.changes);
	assert_result(id, "failed unwatched");
}

static void an_ended_session_has_no_working_tasks(void **state)
{
	AUTO(freep) char *id = make_task();
	manager_free(manager);
	bench_sql(&b, "UPDATE sessions SET state = 'ended'");
	open_server();
	get(id);
	assert_int_equal(got.fail.kind, FAIL_NOT_FOUND);
}

/* A server without tasks leaves the end to one that has them. */
static void a_server_without_tasks_leaves_the_end_to_the_next(void **state)
{
	AUTO(freep) char *id = make_task();
	next_server();
	conversation_take_tasks(conversation, &(struct task_handler){ 0 });
	fake_call_end(fake_only(fake), call(1), "ok");
	assert_nothing_left_to_tell();
	assert_non_null(call(1));
	next_server();
	get(id);
	FAKE_UNTIL(fake, !call(1));
	assert_result(id, "ok ");
}

static unsigned rest_changes;

static char *rest_word(const struct config *config UNUSED, const struct task_info *task UNUSED,
		       const struct run_result *result, const struct fail *f UNUSED)
{
	return xasprintf("{\"ending\":\"%s\"}", ending_name(result->ending));
}

static void on_rest_change(void *ctx UNUSED, const struct task_info *task UNUSED)
{
	rest_changes++;
}

static void take_rest_tasks(void)
{
	conversation_take_tasks(
		conversation, &(struct task_handler){ .face = "rest", .word = rest_word, .on_change = on_rest_change });
}

static void each_face_words_its_own_tasks(void **state)
{
	rest_changes = 0;
	take_rest_tasks();
	AUTO(freep) char *first = make_task();
	face = "rest";
	AUTO(freep) char *second = make_task(), *third = make_task();
	face = NULL;
	end_run(1, "", "ok");
	end_run(2, "", "ok");
	assert_result(first, "ok ");
	assert_result(second, "{\"ending\":\"ok\"}");
	assert_int_equal(told.changes, 1);
	assert_int_equal(rest_changes, 1);
	next_server();
	take_rest_tasks();
	get(third);
	end_run(3, "", "error");
	assert_result(third, "{\"ending\":\"error\"}");
	assert_int_equal(told.changes, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_run_becomes_a_task_after_its_time),
		TEST(a_result_is_repeated_and_not_reported_elsewhere),
		TEST(a_large_end_is_worded_by_a_worker),
		TEST(a_cancelled_task_has_no_result),
		TEST(a_task_that_ended_before_the_cancel_has_its_result),
		TEST(a_task_is_visible_to_its_conversation_only),
		TEST(a_dead_session_ends_its_tasks),
		TEST(a_stopped_session_ends_its_tasks),
		TEST(a_task_expires),
		TEST(a_cancelled_request_leaves_no_task),
		TEST(without_a_record_the_caller_waits),
		TEST(an_unrecorded_end_is_not_acknowledged),
		TEST(a_task_outlives_its_server),
		TEST(an_end_between_two_servers_is_kept),
		TEST(a_recorded_end_is_not_reported_again),
		TEST(an_unrecorded_end_is_replayed),
		TEST(a_cancel_survives_its_server),
		TEST(a_death_between_two_servers_ends_the_task),
		TEST(an_ended_session_has_no_working_tasks),
		TEST(a_server_without_tasks_leaves_the_end_to_the_next),
		TEST(each_face_words_its_own_tasks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
