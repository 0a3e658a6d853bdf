/* base/work: worker jobs, the loop that keeps running meanwhile, and jobs whose owner forgot them. */
#include <stdatomic.h>
#include <unistd.h>

#include "base/work.h"
#include "tests/unit/unit.h"

struct job {
	struct loop *loop;
	struct work *work;
	struct timer *timer;
	int gate[2];
	atomic_int ran;
	int done, forgotten, ticks;
};

static void wait_at_the_gate(void *ctx)
{
	struct job *j = ctx;
	char c;
	(void)!read(j->gate[0], &c, 1);
	atomic_fetch_add(&j->ran, 1);
}

static void on_done(void *ctx, bool forgotten)
{
	struct job *j = ctx;
	j->done++;
	j->forgotten += forgotten;
	loop_stop(j->loop, 0);
}

/* Only the loop opens the gate, so the work ends only if the loop runs while it waits. */
static void on_tick(void *ctx)
{
	struct job *j = ctx;
	if (++j->ticks == 3) {
		(void)!write(j->gate[1], "x", 1);
		timer_stop(j->timer);
	}
}

static void run_job(struct job *j, bool forget)
{
	j->loop = loop_new();
	assert_int_equal(pipe(j->gate), 0);
	j->timer = timer_new(j->loop, on_tick, j);
	timer_start(j->timer, 1, 1);
	j->work = work_start(j->loop, &(struct work_spec){ .fn = wait_at_the_gate, .on_done = on_done, .ctx = j });
	if (forget)
		work_forget(j->work);
	loop_run(j->loop);
	timer_free(j->timer);
	loop_free(j->loop);
	close(j->gate[0]);
	close(j->gate[1]);
}

static void the_loop_keeps_running(void **state)
{
	struct job j = { 0 };
	run_job(&j, false);
	assert_int_equal(atomic_load(&j.ran), 1);
	assert_int_equal(j.done, 1);
	assert_int_equal(j.forgotten, 0);
	assert_int_equal(j.ticks, 3);
}

static void forgotten_work_is_reported_as_forgotten(void **state)
{
	struct job j = { 0 };
	run_job(&j, true);
	assert_int_equal(j.done, 1);
	assert_int_equal(j.forgotten, 1);
}

/* evidence: loop-work */
/* Endless bulk work and rendering fill their lanes and queues. Other jobs overtake them. */
static void bulk_work_and_rendering_leave_workers_for_others(void **state)
{
	struct loop *loop = loop_new();
	struct job slow[10] = { 0 }, quick = { .loop = loop };
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		slow[i].loop = loop;
		assert_int_equal(pipe(slow[i].gate), 0);
		work_start(loop, &(struct work_spec){ .fn = wait_at_the_gate,
						      .on_done = on_done,
						      .ctx = &slow[i],
						      .bulk = i % 2 == 0,
						      .render = i % 2 == 1 });
	}
	assert_int_equal(pipe(quick.gate), 0);
	assert_int_equal(write(quick.gate[1], "x", 1), 1);
	work_start(loop, &(struct work_spec){ .fn = wait_at_the_gate, .on_done = on_done, .ctx = &quick });
	loop_run(loop);
	assert_int_equal(quick.done, 1);
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		assert_int_equal(slow[i].done, 0);
		assert_int_equal(write(slow[i].gate[1], "x", 1), 1);
		while (!slow[i].done)
			loop_run(loop);
		close(slow[i].gate[0]);
		close(slow[i].gate[1]);
	}
	loop_free(loop);
	close(quick.gate[0]);
	close(quick.gate[1]);
}

/* The session of each job, in the order in which they ran. */
struct turns {
	struct loop *loop;
	char order[32];
	size_t n, all;
};

struct turn {
	struct turns *turns;
	char session[2];
	int gate[2];
};

static void pass_gate(void *ctx)
{
	const struct turn *t = ctx;
	char byte;
	if (t->gate[0] && read(t->gate[0], &byte, 1) < 0)
		abort();
}

static void note_turn(void *ctx, bool forgotten)
{
	const struct turn *t = ctx;
	assert_false(forgotten);
	t->turns->order[t->turns->n++] = *t->session;
	if (t->turns->n == t->turns->all)
		loop_stop(t->turns->loop, 0);
}

/* evidence: loop-work */
/* One session has queued six jobs before two others queue two each. Each of the later jobs waits for
 * one job of the first session. */
static void sessions_take_turns_at_rendering(void **state)
{
	static const char sessions[] = "aaaaaabbcc";
	struct turns turns = { .loop = loop_new(), .all = strlen(sessions) };
	struct turn v[sizeof(sessions)] = { 0 };
	assert_int_equal(pipe(v[0].gate), 0);
	for (size_t i = 0; i < turns.all; i++) {
		v[i].turns = &turns;
		v[i].session[0] = sessions[i];
		work_start(turns.loop, &(struct work_spec){ .fn = pass_gate,
							    .on_done = note_turn,
							    .ctx = &v[i],
							    .render = true,
							    .session = v[i].session });
	}
	assert_int_equal(write(v[0].gate[1], "x", 1), 1);
	loop_run(turns.loop);
	assert_string_equal(turns.order, "abcabcaaaa");
	loop_free(turns.loop);
	close(v[0].gate[0]);
	close(v[0].gate[1]);
}

/* Lookups of session a never end. One of them runs, and the lookup of session b runs beside it. */
static void lookups_of_one_session_do_not_delay_another(void **state)
{
	struct loop *loop = loop_new();
	struct job slow[3] = { 0 }, quick = { .loop = loop };
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		slow[i].loop = loop;
		assert_int_equal(pipe(slow[i].gate), 0);
		work_start(loop, &(struct work_spec){ .fn = wait_at_the_gate,
						      .on_done = on_done,
						      .ctx = &slow[i],
						      .lookup = true,
						      .session = "a" });
	}
	assert_int_equal(pipe(quick.gate), 0);
	assert_int_equal(write(quick.gate[1], "x", 1), 1);
	work_start(loop,
		   &(struct work_spec){
			   .fn = wait_at_the_gate, .on_done = on_done, .ctx = &quick, .lookup = true, .session = "b" });
	loop_run(loop);
	assert_int_equal(quick.done, 1);
	for (size_t i = 0; i < ARRAY_LEN(slow); i++) {
		assert_int_equal(slow[i].done, 0);
		assert_int_equal(write(slow[i].gate[1], "x", 1), 1);
		while (!slow[i].done)
			loop_run(loop);
		close(slow[i].gate[0]);
		close(slow[i].gate[1]);
	}
	loop_free(loop);
	close(quick.gate[0]);
	close(quick.gate[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_loop_keeps_running),
		cmocka_unit_test(forgotten_work_is_reported_as_forgotten),
		cmocka_unit_test(bulk_work_and_rendering_leave_workers_for_others),
		cmocka_unit_test(sessions_take_turns_at_rendering),
		cmocka_unit_test(lookups_of_one_session_do_not_delay_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
