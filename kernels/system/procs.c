#include "kernels/system/procs.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/proc.h"
#include "kernels/system/clock.h"

/* A fork bomb that creates a process group for each process can outrun a scan; only kill(-1) gets all of them. */
#define KILL_ROUNDS 10
/* A killed process is listed until the kernel has removed it, which on a busy machine outlasts many scans. */
#define DEATH_WAIT_MS 200
/* How long an install may wait for its processes to end. */
#define END_WAIT_MS 2000
/* Maximum number of names in a sentence. */
#define NAMED_MAX 8
/* A name has at most 15 characters in Linux, some of them escaped. */
#define NAME_SIZE 64

struct matching {
	pid_t session;			/* 0 = any */
	const struct procs_set *spared; /* NULL = none */
	int signo;			/* 0 = only count */
};

/* 1 if the process is alive, matches, and got the signal. PID 1 never matches. */
static unsigned signal_if_matching(pid_t pid, void *ctx)
{
	const struct matching *m = ctx;
	struct proc_stat st;
	if (pid <= 1 || (m->spared && m->spared->has(pid, m->spared->ctx)) || proc_stat(pid, &st) < 0 ||
	    st.state == 'Z' || st.state == 'X' || (m->session && st.session != m->session))
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

/* Reads the name at the start of /proc/PID/status, where a line break in it is escaped. False if the process
 * belongs to another user. */
static bool read_name(pid_t pid, char ret[static NAME_SIZE])
{
	char path[64], text[1024];
	unsigned uid;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *at = strchr(text, '\t'), *user = strstr(text, "\nUid:\t");
	if (!at || !user || sscanf(user, "\nUid:\t%u", &uid) != 1 || uid != getuid())
		return false;
	size_t len = 0;
	for (at++; *at && *at != '\n' && len < NAME_SIZE - 1; at++)
		ret[len++] = *at;
	ret[len] = '\0';
	for (char *c = ret; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return true;
}

struct naming {
	bool (*known)(pid_t session, const void *ctx);
	const void *ctx;
	struct buf text;
	unsigned n;
};

static unsigned name_if_other(pid_t pid, void *ctx)
{
	struct naming *all = ctx;
	struct proc_stat st;
	char name[NAME_SIZE], one[NAME_SIZE + 32];
	if (pid <= 1 || proc_stat(pid, &st) < 0 || st.state == 'Z' || st.state == 'X' ||
	    all->known(st.session, all->ctx) || !read_name(pid, name))
		return 0;
	if (all->n++ < NAMED_MAX) {
		int n = snprintf(one, sizeof(one), "%s%s (pid %d)", all->n > 1 ? ", " : "", name, (int)pid);
		(void)buf_add(&all->text, one, (size_t)n);
	}
	return 1;
}

char *procs_name_others(bool (*known)(pid_t session, const void *ctx), const void *ctx)
{
	struct naming all = { .known = known, .ctx = ctx };
	AUTO(buf_release) struct buf text = { 0 };
	unsigned n = proc_each(name_if_other, &all);
	text = all.text;
	if (!n)
		return NULL;
	return n > NAMED_MAX ? xasprintf("%s and %u more", buf_str(&text), n - NAMED_MAX) : xstrdup(buf_str(&text));
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

bool procs_end_all(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	procs_kill_all();
	for (uint64_t until = clock_now_ms() + END_WAIT_MS; getpid() == 1; nanosleep(&moment, NULL)) {
		if (!proc_each(signal_if_matching, &(struct matching){ .signo = SIGKILL }))
			return true;
		if (clock_now_ms() >= until)
			return false;
	}
	return true;
}

void procs_kill_others(const struct procs_set *spared)
{
	struct matching stop = { .spared = spared, .signo = SIGSTOP }, end = stop;
	unsigned before = 0;
	end.signo = SIGKILL;
	if (getpid() != 1)
		return;
	for (int i = 0; i < KILL_ROUNDS; i++) {
		unsigned now = proc_each(signal_if_matching, &stop);
		if (now <= before)
			break;
		before = now;
	}
	for (int i = 0; i < KILL_ROUNDS && proc_each(signal_if_matching, &end); i++)
		continue;
}
