#include "kernels/procs.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/parse.h"
#include "kernels/clock.h"

/* A fork bomb that makes a group of its own for each process can outrun a scan; kill(-1) is for those. */
#define KILL_ROUNDS 10
/* A killed process is still listed until the kernel has taken it down, which on a busy machine outlasts many scans. */
#define DEATH_WAIT_MS 200

pid_t procs_parse_session(const char *stat)
{
	/* The name in parentheses is the process's own choice and may hold anything. */
	const char *end = strrchr(stat, ')');
	char state;
	int ppid, pgrp, session;
	if (!end || sscanf(end + 1, " %c %d %d %d", &state, &ppid, &pgrp, &session) != 4)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : session;
}

static pid_t session_of(const char *pid)
{
	char path[64], text[512];
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	return procs_parse_session(text);
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static unsigned each_of_session(pid_t sid, int signo)
{
	AUTO(closedirp) DIR *dir = opendir("/proc");
	unsigned found = 0;
	if (!dir)
		return 0;
	for (struct dirent *e; (e = readdir(dir));) {
		uint64_t pid;
		if (parse_u64(e->d_name, &pid) < 0 || pid <= 1 || session_of(e->d_name) != sid)
			continue;
		found++;
		if (signo)
			kill((pid_t)pid, signo);
	}
	return found;
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

/* How many processes took the signal. */
static unsigned signal_others(pid_t spare, int signo)
{
	AUTO(closedirp) DIR *dir = opendir("/proc");
	unsigned found = 0;
	if (!dir)
		return 0;
	for (struct dirent *e; (e = readdir(dir));) {
		uint64_t pid;
		if (parse_u64(e->d_name, &pid) < 0 || pid <= 1 || (pid_t)pid == spare || !session_of(e->d_name))
			continue;
		found += kill((pid_t)pid, signo) == 0;
	}
	return found;
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
