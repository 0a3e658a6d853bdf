/* Runs one input with a limit on its CPU time, because most targets run on the server's loop, which an input must
 * not block noticeably. libFuzzer's -timeout counts whole seconds of a clock that also runs while other programs
 * do. Memory is limited from outside: by libFuzzer's -rss_limit_mb, and by hard_rss_limit_mb in ASAN_OPTIONS. */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

#define CPU_SECONDS 1

static void too_slow(int signo UNUSED)
{
	static const char text[] = "broken: the input took more than 1 s of CPU time\n";
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(1);
	abort();
}

static void arm(int seconds)
{
	const struct itimerval timer = { .it_value.tv_sec = seconds };
	CHECK(setitimer(ITIMER_PROF, &timer, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static bool ready;
	if (!ready)
		CHECK(sigaction(SIGPROF, &(struct sigaction){ .sa_handler = too_slow }, NULL) == 0);
	ready = true;
	arm(CPU_SECONDS);
	int r = fuzz_one(data, n);
	arm(0);
	return r;
}
