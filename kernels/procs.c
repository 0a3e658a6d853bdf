#include "kernels/procs.h"

#include <signal.h>
#include <time.h>

#include "base/proc.h"
#include "kernels/clock.h"

/* A fork bomb that makes a group of its own for each process can outrun a scan; kill(-1) is for those. */
#define KILL_ROUNDS 10
/* A killed process is still listed until the kernel has taken it down, which on a busy machine outlasts many scans. */
#define DEATH_WAIT_MS 200

struct matching {
	pid_t session; /* 0 = any */
	pid_t spare;
	int signo; /* 0 = only count */
};

/* 1 if the process is alive, matches, and got the signal. PID 1 never matches. */
static unsigned signal_if_matching(pid_t pid, void *ctx)
{
	const struct matching *m = ctx;
	struct proc_stat st;
	if (pid <= 1 || pid == m->spare || proc_stat(pid, &st) < 0 || st.state == 'Z' || st.state == 'X' ||
	    (m->session && st.session != m->session))
		return 0;
	return !m->signo || kill(pid, m->signo) == 0;
}

static unsigned each_of_session(pid_t sid, int signo)
{
	return proc_each(signal_if_matching, &(struct matching){ .session = sid, .signo = signo });
}

unsigned procs_count_session(pid_t sid)
{
	return each_of_session(sid, 0);
}

bool procs_kill_session(pid_t sid)
{
	if (sid <= 1)
		return true;
	kill(-sid, SIGKILL);
	const struct timespec moment = { .tv_nsec = 1000000 };
	uint64_t until = clock_now_ms() + DEATH_WAIT_MS;
	for (int i = 0; i < KILL_ROUNDS || clock_now_ms() < until; i++) {
		if (!each_of_session(sid, SIGKILL))
			return true;
		if (i > 0)
			nanosleep(&moment, NULL);
	}
	return false;
}

void procs_kill_all(void)
{
	if (getpid() == 1)
		kill(-1, SIGKILL);
}

static unsigned signal_others(pid_t spare, int signo)
{
	return proc_each(signal_if_matching, &(struct matching){ .spare = spare, .signo = signo });
}

void procs_kill_others(pid_t spare)
{
	unsigned before = 0;
	if (getpid() != 1)
		return;
	for (int i = 0; i < KILL_ROUNDS; i++) {
		unsigned now = signal_others(spare, SIGSTOP);
		if (now <= before)
			break;
		before = now;
	}
	for (int i = 0; i < KILL_ROUNDS && signal_others(spare, SIGKILL); i++)
		continue;
}
