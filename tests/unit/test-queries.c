/* Queries and requests for a status on the fake engine: each waiter is answered when its session ends, and a cancelled
 * query does not block the next. */
#include "base/alloc.h"
#include "kernels/protocol.h"
#include "manager/manager.h"
#include "tests/unit/manager-bench.h"
#include "tests/unit/unit.h"

#define ANSWER "{\"status\":\"ok\",\"matches\":[\"found\"],\"start\":0,\"end\":0}"

static struct bench b;
static struct fake *fake;
static struct manager *manager;
static struct conversation *conversation;
static struct fake_script script;
static char *session;
static unsigned statuses;
static uint32_t number; /* of the last query */

struct got {
	unsigned done;
	struct fail fail;
};

static struct got queried, informed, other;

/* A STATUS is not answered. */
static void on_frame(void *ctx, struct engine_stream *s, const struct frame *frame)
{
	if (frame->header.type == FRAME_QUERY)
		number = frame->header.call;
	if (frame->header.type == FRAME_STATUS)
		statuses++;
	else
		fake_pid1_script.on_frame(ctx, s, frame);
}

static void keep(struct got *g, const struct fail *f)
{
	g->done++;
	if (f)
		fail_copy(&g->fail, f);
}

static void on_created(void *ctx UNUSED, const struct create_result *result, const struct fail *f)
{
	assert_null(f);
	session = xstrdup(result->session->id);
}

static int setup(void **state)
{
	fake = manager_bench_begin(&b);
	manager_bench_load(&b);
	script = fake_pid1_script;
	script.on_frame = on_frame;
	fake_play(fake, &script);
	statuses = number = 0;
	manager = manager_new(b.loop, &b.config);
	conversation = conversation_open(manager, &(struct conversation_spec){ .id = "t" });
	struct create_request request = { .runtime = runtime_find("python"), .on_done = on_created };
	assert_non_null(manager_create(conversation, &request, &other.fail));
	FAKE_UNTIL(fake, session);
	return 0;
}

static void forget(struct got *g)
{
	fail_release(&g->fail);
	*g = (struct got){ 0 };
}

static int teardown(void **state)
{
	manager_free(manager);
	forget(&queried);
	forget(&informed);
	forget(&other);
	free(take_ptr(session));
	manager_bench_end(&b, fake);
	return 0;
}

static void on_answer(void *ctx, const struct query_answer *answer, const struct fail *f)
{
	assert_int_equal(!answer, !!f);
	keep(ctx, f);
}

static void on_info(void *ctx, const struct session_details *details, const struct fail *f)
{
	assert_int_equal(!details, !!f);
	keep(ctx, f);
}

static void on_stopped(void *ctx, const struct fail *f)
{
	keep(ctx, f);
}

/* The fake PID 1 answers with the code itself, and does not answer without code. NULL while there is no
 * connection. */
static struct op *try_query(struct got *g, const char *code)
{
	fail_release(&g->fail);
	return manager_query(conversation,
			     &(struct query_request){ QUERY_COMPLETE, session, code, strlen(code), .on_done = on_answer,
						      .ctx = g },
			     &g->fail);
}

static struct op *start_query(struct got *g, const char *code)
{
	struct op *op = try_query(g, code);
	assert_non_null(op);
	return op;
}

/* Starts a query that PID 1 is working on, one queued behind it, and a request for a status. */
static void wait_for_all(void)
{
	start_query(&queried, "");
	start_query(&queried, "");
	assert_non_null(manager_info(
		conversation, &(struct info_request){ .session_id = session, .on_done = on_info, .ctx = &informed },
		&informed.fail));
	FAKE_UNTIL(fake, statuses == 1 && fake_only(fake)->pid1->queries == 1);
	assert_int_equal(queried.done + informed.done, 0);
}

static void stop(void)
{
	struct stop_request request = { .session_id = session, .on_done = on_stopped, .ctx = &other };
	assert_non_null(manager_stop(conversation, &request, &other.fail));
	FAKE_UNTIL(fake, other.done);
	assert_int_equal(other.fail.kind, FAIL_NONE);
}

static void a_stop_answers_waiting_queries(void **state)
{
	wait_for_all();
	stop();
	assert_int_equal(queried.done, 2);
	assert_int_equal(queried.fail.cause, CAUSE_STOPPED);
	assert_int_equal(informed.done, 1);
	assert_int_equal(informed.fail.kind, FAIL_NOT_FOUND);
}

static void a_death_answers_waiting_queries(void **state)
{
	wait_for_all();
	fake_die(fake_only(fake), 3, /* oom= */ false);
	FAKE_UNTIL(fake, queried.done == 2 && informed.done == 1);
	assert_int_equal(queried.fail.kind, FAIL_DIED);
	assert_int_equal(informed.fail.kind, FAIL_DIED);
	assert_string_equal(queried.fail.message, informed.fail.message);
}

static void the_next_query_waits_for_the_end_of_a_cancelled_one(void **state)
{
	struct op *op = start_query(&other, "");
	FAKE_UNTIL(fake, fake_only(fake)->pid1->queries == 1);
	op_cancel(op);
	start_query(&queried, ANSWER);
	/* Frames that were sent before the STATUS have arrived with it. */
	assert_non_null(manager_info(
		conversation, &(struct info_request){ .session_id = session, .on_done = on_info, .ctx = &informed },
		&informed.fail));
	FAKE_UNTIL(fake, statuses == 1);
	assert_int_equal(fake_only(fake)->pid1->queries, 1);
	fake_send(fake_stream(fake_only(fake)), FRAME_ANSWER, number, ANSWER, strlen(ANSWER));
	FAKE_UNTIL(fake, queried.done);
	assert_int_equal(queried.fail.kind, FAIL_NONE);
	assert_int_equal(other.done, 0);
}

/* A cancelled query is forgotten when the session stops, the connection breaks or the server ends. */
static void a_cancelled_query_keeps_nothing(void **state)
{
	struct op *op = start_query(&queried, "");
	FAKE_UNTIL(fake, fake_only(fake)->pid1->queries == 1);
	op_cancel(op);
	fake_break(fake_stream(fake_only(fake)), FAIL_ENGINE, CAUSE_NONE, "a cable");
	FAKE_UNTIL(fake, fake_only(fake)->pid1->hellos == 2);
	FAKE_UNTIL(fake, (op = try_query(&queried, "")));
	FAKE_UNTIL(fake, fake_only(fake)->pid1->queries == 2);
	op_cancel(op);
	if (*state)
		stop();
	assert_int_equal(queried.done, 0);
}

int main(void)
{
	static int stops = 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stop_answers_waiting_queries, setup, teardown),
		cmocka_unit_test_setup_teardown(a_death_answers_waiting_queries, setup, teardown),
		cmocka_unit_test_setup_teardown(the_next_query_waits_for_the_end_of_a_cancelled_one, setup, teardown),
		cmocka_unit_test_setup_teardown(a_cancelled_query_keeps_nothing, setup, teardown),
		cmocka_unit_test_prestate_setup_teardown(a_cancelled_query_keeps_nothing, setup, teardown, &stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
