#include "kernels/commands/reading.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/proc.h"

#define THREADS_MAX 256
#define POLL_FDS_MAX 128
#define SELECT_FDS_MAX 1024
#define ARGUMENTS 3

struct search {
	pid_t group;
	dev_t terminal;
	struct reader *found;
};

/* The system call in which a thread sleeps. */
struct sleep {
	pid_t pid;
	dev_t terminal;
	long call;
	unsigned long args[ARGUMENTS];
};

static bool read_file(const char *path, char *text, size_t size)
{
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

/* True if the descriptor is the terminal or /dev/tty, which is the same device for a process of the terminal's
 * foreground group. */
static bool is_terminal(const struct sleep *s, unsigned long fd)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/fd/%lu", s->pid, fd);
	return stat(path, &st) == 0 && S_ISCHR(st.st_mode) &&
	       (st.st_rdev == s->terminal || st.st_rdev == makedev(5, 0));
}

static bool read_memory(pid_t pid, unsigned long at, void *data, size_t n)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && pread(fd, data, n, (off_t)at) == (ssize_t)n;
}

static bool polls(const struct sleep *s)
{
	struct pollfd fds[POLL_FDS_MAX];
	size_t n = MIN(s->args[1], (unsigned long)POLL_FDS_MAX);
	if (!n || !read_memory(s->pid, s->args[0], fds, n * sizeof(*fds)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (fds[i].fd >= 0 && fds[i].events & POLLIN && is_terminal(s, (unsigned long)fds[i].fd))
			return true;
	return false;
}

static bool selects(const struct sleep *s)
{
	unsigned long bits[SELECT_FDS_MAX / (8 * sizeof(unsigned long))],
		n = MIN(s->args[0], (unsigned long)SELECT_FDS_MAX);
	size_t words = (n + 8 * sizeof(*bits) - 1) / (8 * sizeof(*bits));
	if (!s->args[1] || !words || !read_memory(s->pid, s->args[1], bits, words * sizeof(*bits)))
		return false;
	for (unsigned long fd = 0; fd < n; fd++)
		if (bits[fd / (8 * sizeof(*bits))] >> fd % (8 * sizeof(*bits)) & 1 && is_terminal(s, fd))
			return true;
	return false;
}

/* /proc lists the descriptors that an epoll descriptor watches. */
static bool epolls(const struct sleep *s)
{
	char path[64], text[8192];
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%lu", s->pid, s->args[0]);
	if (!read_file(path, text, sizeof(text)))
		return false;
	for (const char *at = text; (at = strstr(at, "tfd:")); at++) {
		unsigned long fd;
		unsigned events;
		if (sscanf(at, "tfd: %lu events: %x", &fd, &events) == 2 && events & EPOLLIN && is_terminal(s, fd))
			return true;
	}
	return false;
}

static bool waits(const struct sleep *s)
{
	switch (s->call) {
	case SYS_read:
	case SYS_readv:
		return is_terminal(s, s->args[0]);
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		return polls(s);
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return selects(s);
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
		return epolls(s);
	default:
		return false;
	}
}

static uint64_t count_sleeps(pid_t pid, pid_t thread)
{
	char path[64], text[4096];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, thread);
	const char *at = read_file(path, text, sizeof(text)) ? strstr(text, "\nvoluntary_ctxt_switches:") : NULL;
	return at ? strtoull(at + strlen("\nvoluntary_ctxt_switches:"), NULL, 10) : 0;
}

static bool thread_waits(const struct search *search, pid_t pid, pid_t thread)
{
	char path[64], text[256];
	struct sleep s = { .pid = pid, .terminal = search->terminal };
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, thread);
	/* The file says "running" if the thread does not sleep. */
	if (!read_file(path, text, sizeof(text)) ||
	    sscanf(text, "%ld %lx %lx %lx", &s.call, &s.args[0], &s.args[1], &s.args[2]) != 1 + ARGUMENTS || !waits(&s))
		return false;
	*search->found = (struct reader){ .thread = thread, .sleeps = count_sleeps(pid, thread) };
	return true;
}

static unsigned check_process(pid_t pid, void *ctx)
{
	const struct search *search = ctx;
	struct proc_stat st;
	if (pid <= 1 || search->found->thread || proc_stat(pid, &st) < 0 || st.group != search->group)
		return 0;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *threads = opendir(path);
	bool found = false;
	for (int i = 0; threads && !found && i < THREADS_MAX; i++) {
		const struct dirent *entry = readdir(threads);
		if (!entry)
			break;
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
		found = thread > 0 && thread_waits(search, pid, thread);
	}
	if (threads)
		closedir(threads);
	return found;
}

bool reading_find(pid_t group, dev_t terminal, struct reader *ret)
{
	struct search search = { .group = group, .terminal = terminal, .found = ret };
	*ret = (struct reader){ 0 };
	return group > 1 && proc_each(check_process, &search) > 0;
}
