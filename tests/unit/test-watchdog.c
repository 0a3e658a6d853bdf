/* base/watchdog and SIGTERM: a blocked loop is noticed, and SIGTERM still ends its process. Tested in child processes,
 * whose standard error is read. */
/* evidence: sigterm */
#include "base/watchdog.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/loop.h"
#include "tests/unit/unit.h"

static struct loop *loop;

static void stop(void *ctx, int signo)
{
	loop_stop(loop, signo);
}

static void wait_long(int ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
	while (nanosleep(&left, &left) < 0)
		continue;
}

static void run_for(timer_fn fn, void *ctx)
{
	struct timer *t = timer_new(loop, fn, ctx);
	timer_start(t, 0, 0);
	loop_run(loop);
	timer_free(t);
}

/* --- the child -------------------------------------------------------------------------------------------------------- */

static void never_return(void *ctx)
{
	kill(getppid(), SIGUSR1);
	for (;;)
		pause();
}

static void turn_late(void *ctx)
{
	watchdog_detail("a call of the tool", "slow\n", 7);
	wait_long(300);
	loop_stop(loop, 0);
}

static void turn_soon(void *ctx)
{
	int *left = ctx;
	wait_long(20);
	if (!--*left)
		loop_stop(loop, 0);
}

static void be_late(void)
{
	watchdog_start(loop_raw(loop), 100);
	run_for(turn_late, NULL);
	loop_drain(loop, 10);
}

/* The loop is busy for longer than the limit in total, but not in one turn, and then idle for longer than the limit. */
static void be_busy(void)
{
	int turns = 20;
	watchdog_start(loop_raw(loop), 300);
	struct timer *t = timer_new(loop, turn_soon, &turns);
	timer_start(t, 1, 1);
	loop_run(loop);
	turns = 1;
	timer_start(t, 400, 0);
	loop_run(loop);
	timer_free(t);
}

static void be_stuck(void)
{
	struct signals *signals = signals_new(loop, stop, NULL);
	signals_set_notice(100);
	signal(SIGALRM, SIG_IGN); /* as the parent may have set it */
	run_for(never_return, NULL);
	signals_free(signals);
}

static void tell_parent(void *ctx)
{
	kill(getppid(), SIGUSR1);
}

/* After the signal, takes longer to end than the time in which a loop must notice the signal. */
static void end_well(void)
{
	struct signals *signals = signals_new(loop, stop, NULL);
	struct timer *keeps_alive = timer_new(loop, tell_parent, NULL);
	signals_set_notice(500);
	timer_start(keeps_alive, 10000, 0);
	run_for(tell_parent, NULL);
	wait_long(700);
	timer_free(keeps_alive);
	signals_free(signals);
}

/* --- and its parent --------------------------------------------------------------------------------------------------- */

static int run_child(void (*act)(void), int signo, struct buf *said)
{
	int ends[2], status = 0;
	sigset_t ready, before;
	sigemptyset(&ready);
	sigaddset(&ready, SIGUSR1);
	sigprocmask(SIG_BLOCK, &ready, &before);
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		dup2(ends[1], STDERR_FILENO);
		loop = loop_new();
		act();
		loop_free(loop);
		_exit(0);
	}
	close(ends[1]);
	if (signo)
		assert_int_equal(sigwaitinfo(&ready, NULL), SIGUSR1);
	if (signo)
		kill(pid, signo);
	uint8_t *room;
	ssize_t n;
	while ((room = buf_reserve(said, 4096)) && (n = read(ends[0], room, 4096)) > 0)
		said->len += (size_t)n;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

static void a_blocked_loop_is_reported_with_its_stack(void **state)
{
	AUTO(buf_release) struct buf said = { 0 };
	assert_int_equal(run_child(be_late, 0, &said), 0);
	const char *text = buf_str(&said);
	assert_non_null(strstr(text, "husk: the loop has not turned for "));
	assert_non_null(strstr(text, " ms; it is busy with a call of the tool slow? 7; its stack:\n"));
	assert_non_null(strstr(text, "test-watchdog"));
	assert_non_null(strstr(text, "the loop turns again after "));
	/* The stack is printed once. */
	assert_null(strstr(strstr(text, "its stack") + 1, "its stack"));
}

static void a_busy_or_waiting_loop_is_not_reported(void **state)
{
	AUTO(buf_release) struct buf said = { 0 };
	assert_int_equal(run_child(be_busy, 0, &said), 0);
	assert_string_equal(buf_str(&said), "");
}

static void sigterm_ends_a_blocked_loop(void **state)
{
	AUTO(buf_release) struct buf said = { 0 };
	int status = run_child(be_stuck, SIGTERM, &said);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGALRM);
}

static void sigterm_leaves_time_for_a_clean_end(void **state)
{
	AUTO(buf_release) struct buf said = { 0 };
	assert_int_equal(run_child(end_well, SIGTERM, &said), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blocked_loop_is_reported_with_its_stack),
		cmocka_unit_test(a_busy_or_waiting_loop_is_not_reported),
		cmocka_unit_test(sigterm_ends_a_blocked_loop),
		cmocka_unit_test(sigterm_leaves_time_for_a_clean_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
