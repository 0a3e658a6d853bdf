/* kernels/system/poller: a callback may stop other watches and timeouts. */
#include <errno.h>

#include "kernels/system/clock.h"
#include "kernels/system/poller.h"
#include "tests/unit/unit.h"

struct thing {
	struct watch watch;
	struct timeout timeout;
	struct thing *victim;
	struct poller *poller;
	unsigned calls;
};

static void on_watch(struct watch *w, short revents)
{
	struct thing *t = container_of(w, struct thing, watch);
	t->calls++;
	watch_stop(w);
	if (t->victim)
		watch_stop(&t->victim->watch);
}

static void a_callback_may_stop_another_that_is_ready(void **state)
{
	struct poller p;
	int fds[2];
	struct thing a = { 0 }, b = { 0 };
	poller_init(&p);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	a.victim = &b;
	watch_start(&p, &a.watch, fds[0], POLLIN, on_watch);
	watch_start(&p, &b.watch, fds[0], POLLIN, on_watch);
	poller_turn(&p, 1000);
	assert_int_equal(a.calls, 1);
	assert_int_equal(b.calls, 0);
	watch_stop(&a.watch);
	close(fds[0]);
	close(fds[1]);
}

static void on_timeout(struct timeout *timeout)
{
	struct thing *t = container_of(timeout, struct thing, timeout);
	t->calls++;
	timeout_start(t->poller, timeout, 0, on_timeout);
	if (t->victim)
		timeout_stop(&t->victim->timeout);
}

static void timeouts_come_in_order_and_may_start_again(void **state)
{
	struct poller p;
	poller_init(&p);
	struct thing a = { .poller = &p }, b = { .poller = &p };
	a.victim = &b;
	timeout_start(&p, &b.timeout, 30, on_timeout);
	timeout_start(&p, &a.timeout, 10, on_timeout);
	assert_true(timeout_active(&b.timeout));
	uint64_t began = clock_now_ms();
	poller_turn(&p, 5000);
	assert_true(clock_now_ms() - began >= 9 && a.calls == 1 && b.calls == 0);
	assert_false(timeout_active(&b.timeout));
	assert_true(timeout_active(&a.timeout));
	poller_turn(&p, 5000);
	assert_int_equal(a.calls, 2);
	timeout_stop(&a.timeout);
	timeout_stop(&a.timeout);
}

static void a_turn_waits_no_longer_than_asked(void **state)
{
	struct poller p;
	poller_init(&p);
	struct thing a = { .poller = &p };
	timeout_start(&p, &a.timeout, 60000, on_timeout);
	poller_turn(&p, 1);
	assert_int_equal(a.calls, 0);
	timeout_stop(&a.timeout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_callback_may_stop_another_that_is_ready),
		cmocka_unit_test(timeouts_come_in_order_and_may_start_again),
		cmocka_unit_test(a_turn_waits_no_longer_than_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
