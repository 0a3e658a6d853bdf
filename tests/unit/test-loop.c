/* base/loop: order and times of timers, what keeps a loop alive, signals, and freeing from inside callbacks. */
#include <malloc.h>
#include <signal.h>

#include "base/alloc.h"
#include "base/loop.h"
#include "tests/unit/unit.h"

struct ticks {
	struct loop *loop;
	struct timer *timer;
	char order[16];
	size_t n;
	int stop_after;
};

static void tick(void *ctx)
{
	struct ticks *t = ctx;
	if (++t->n == (size_t)t->stop_after)
		loop_stop(t->loop, 42);
}

struct mark {
	char *at;
	char letter;
};

static void note(void *ctx)
{
	struct mark *m = ctx;
	m->at[strlen(m->at)] = m->letter;
}

static void an_empty_loop_ends_at_once(void **state)
{
	struct loop *loop = loop_new();
	assert_int_equal(loop_run(loop), 0);
	assert_null(loop_free(loop));
	assert_null(loop_free(NULL));
}

static void timers_fire_in_order(void **state)
{
	struct loop *loop = loop_new();
	char order[8] = "";
	struct mark marks[] = { { order, 'a' }, { order, 'b' }, { order, 'c' } };
	struct timer *c = timer_new(loop, note, &marks[2]);
	struct timer *b = timer_new(loop, note, &marks[1]);
	struct timer *a = timer_new(loop, note, &marks[0]);
	timer_start(c, 30, 0);
	timer_start(b, 15, 0);
	timer_start(a, 0, 0);
	assert_true(timer_active(c));
	assert_string_equal(order, ""); /* the callback never runs inside the start */
	assert_int_equal(loop_run(loop), 0);
	assert_string_equal(order, "abc");
	assert_false(timer_active(c));
	timer_free(a);
	timer_free(b);
	timer_free(c);
	loop_free(loop);
}

static void a_timer_is_not_early(void **state)
{
	struct loop *loop = loop_new();
	struct ticks t = { .loop = loop };
	struct timer *timer = timer_new(loop, tick, &t);
	uint64_t began = loop_now_ms();
	timer_start(timer, 40, 0);
	loop_run(loop);
	assert_int_equal(t.n, 1);
	assert_true(loop_now_ms() - began >= 39);
	timer_free(timer);
	loop_free(loop);
}

static void repeats_until_stopped(void **state)
{
	struct loop *loop = loop_new();
	struct ticks t = { .loop = loop, .stop_after = 3 };
	struct timer *timer = timer_new(loop, tick, &t);
	timer_start(timer, 1, 1);
	assert_int_equal(loop_run(loop), 42);
	assert_int_equal(t.n, 3);
	timer_stop(timer);
	assert_false(timer_active(timer));
	assert_int_equal(loop_run(loop), 0); /* nothing keeps the loop alive, and the exit code is not kept from the
	                                      * last run */
	timer_free(timer);
	loop_free(loop);
}

static void restarting_a_timer_moves_it(void **state)
{
	struct loop *loop = loop_new();
	char order[8] = "";
	struct mark marks[] = { { order, 'a' }, { order, 'b' } };
	struct timer *a = timer_new(loop, note, &marks[0]);
	struct timer *b = timer_new(loop, note, &marks[1]);
	timer_start(a, 1, 0);
	timer_start(b, 10, 0);
	timer_start(a, 30, 0);
	loop_run(loop);
	assert_string_equal(order, "ba");
	timer_free(a);
	timer_free(b);
	loop_free(loop);
}

static void again(void *ctx)
{
	struct ticks *t = ctx;
	t->n++;
	timer_start(t->timer, 0, 0);
}

/* Turns take microseconds. With a wait of 1 ms in each, fewer than 50 of them would fit. */
static void a_timer_of_0_ms_neither_waits_nor_starves_others(void **state)
{
	struct loop *loop = loop_new();
	struct ticks t = { .loop = loop }, last = { .loop = loop, .stop_after = 1 };
	struct timer *later = timer_new(loop, tick, &last);
	t.timer = timer_new(loop, again, &t);
	timer_start(later, 50, 0);
	timer_start(t.timer, 0, 0);
	assert_true(timer_active(t.timer));
	assert_int_equal(loop_run(loop), 42);
	assert_true(t.n > 200);
	timer_stop(t.timer);
	assert_false(timer_active(t.timer));
	timer_free(t.timer);
	timer_free(later);
	assert_int_equal(loop_run(loop), 0);
	loop_free(loop);
}

static void moves_from_0_ms_to_later_and_back(void **state)
{
	struct loop *loop = loop_new();
	char order[8] = "";
	struct mark marks[] = { { order, 'a' }, { order, 'b' } };
	struct timer *a = timer_new(loop, note, &marks[0]);
	struct timer *b = timer_new(loop, note, &marks[1]);
	timer_start(a, 0, 0);
	timer_start(b, 60000, 0);
	timer_start(a, 10, 0);
	timer_start(b, 0, 0);
	loop_run(loop);
	assert_string_equal(order, "ba");
	timer_start(a, 0, 0);
	timer_free(a);
	loop_run(loop);
	assert_string_equal(order, "ba");
	timer_free(b);
	loop_free(loop);
}

static void free_inside(void *ctx)
{
	struct ticks *t = ctx;
	t->n++;
	t->timer = timer_free(t->timer);
}

static void may_be_freed_from_inside(void **state)
{
	struct loop *loop = loop_new();
	struct ticks t = { .loop = loop };
	t.timer = timer_new(loop, free_inside, &t);
	timer_start(t.timer, 1, 1);
	loop_run(loop);
	assert_int_equal(t.n, 1);
	assert_null(t.timer);
	loop_free(loop);
}

static void got_signal(void *ctx, int signo)
{
	struct ticks *t = ctx;
	t->n = (size_t)signo;
	loop_stop(t->loop, 7);
}

static void raise_term(void *ctx)
{
	raise(SIGTERM);
}

static void signals_are_events(void **state)
{
	struct loop *loop = loop_new();
	struct ticks t = { .loop = loop };
	struct signals *signals = signals_new(loop, got_signal, &t);
	assert_int_equal(loop_run(loop), 0); /* waiting for a signal does not keep the loop alive */
	struct timer *timer = timer_new(loop, raise_term, NULL);
	struct timer *long_one = timer_new(loop, raise_term, NULL);
	timer_start(timer, 1, 0);
	timer_start(long_one, 30000, 0);
	assert_int_equal(loop_run(loop), 7);
	assert_int_equal(t.n, SIGTERM);
	raise(SIGPIPE); /* ignored from signals_new() on */
	timer_free(timer);
	timer_free(long_one);
	signals_free(signals);
	loop_free(loop);
}

struct trace {
	struct timer *once, *again, *late;
	char text[64];
	size_t n;
	uint64_t began_ms, at_ms;
};

static void note_once(void *ctx)
{
	struct trace *t = ctx;
	t->text[t->n++] = 'o';
	t->at_ms = loop_now_ms();
	timer_start(t->late, 12000, 0); /* counts from here */
}

static void note_again(void *ctx)
{
	struct trace *t = ctx;
	t->text[t->n++] = 'a';
}

static void note_late(void *ctx)
{
	struct trace *t = ctx;
	t->text[t->n++] = 'l';
}

static void time_can_be_skipped(void **state)
{
	struct loop *loop = loop_new();
	struct trace t = { .began_ms = loop_now_ms() };
	uint64_t skipped = loop_skipped_ms();
	t.once = timer_new(loop, note_once, &t);
	t.again = timer_new(loop, note_again, &t);
	t.late = timer_new(loop, note_late, &t);
	timer_start(t.again, 10000, 10000);
	timer_start(t.once, 25000, 0);
	loop_skip(loop, 24000);
	assert_string_equal(t.text, "aa");
	loop_skip(loop, 20000);
	assert_string_equal(t.text, "aaoala");
	assert_in_range(t.at_ms - t.began_ms, 25000, 26000);
	assert_int_equal(loop_skipped_ms() - skipped, 44000);
	timer_free(t.once);
	timer_free(t.again);
	timer_free(t.late);
	loop_free(loop);
}

static void use_large_blocks(void)
{
	enum { BLOCKS = 16, SIZE = 1 << 20 };
	void *blocks[BLOCKS];
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = memset(xmalloc(SIZE), 1, SIZE);
	for (size_t i = 0; i < BLOCKS; i++)
		free(blocks[i]);
}

/* Where a sanitizer replaces malloc, mallinfo2() reports nothing, so only the flag is tested. */
static void large_blocks_are_given_back_after_a_while(void **state)
{
	struct loop *loop = loop_new();
	struct trace t = { 0 };
	t.late = timer_new(loop, note_late, &t); /* keeps the loop alive */
	timer_start(t.late, 3600000, 0);
	loop_keep_memory(loop);
	use_large_blocks();
	size_t kept = mallinfo2().arena;
	loop_skip(loop, 1000);
	assert_false(alloc_took_large()); /* the loop has seen it */
	assert_int_equal(mallinfo2().arena, kept);
	loop_skip(loop, 20000);
	if (kept)
		assert_in_range(mallinfo2().arena, 0, kept - (8u << 20));
	timer_free(t.late);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_loop_ends_at_once),
		cmocka_unit_test(timers_fire_in_order),
		cmocka_unit_test(a_timer_is_not_early),
		cmocka_unit_test(repeats_until_stopped),
		cmocka_unit_test(restarting_a_timer_moves_it),
		cmocka_unit_test(a_timer_of_0_ms_neither_waits_nor_starves_others),
		cmocka_unit_test(moves_from_0_ms_to_later_and_back),
		cmocka_unit_test(may_be_freed_from_inside),
		cmocka_unit_test(signals_are_events),
		cmocka_unit_test(time_can_be_skipped),
		cmocka_unit_test(large_blocks_are_given_back_after_a_while),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
