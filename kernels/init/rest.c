#include "kernels/init/rest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/proc.h"

/* Time from the last event to the first check. It doubles, up to a maximum, after each check that finds a reason not to
 * rest. */
#define AFTER_MS 1000
#define PAUSE_MAX_MS 16000
/* Time for a stop to take effect. */
#define STOP_MS 2000
/* A session with more threads or descriptors, or with a longer file in /proc, does not rest. */
#define THREADS_MAX 128
#define FDS_MAX 512
#define TEXT_MAX 4096
#define SYSCALL_ARGS 6

/* ---- one thread */

enum wait_kind {
	WAITS_ALWAYS,	/* the first argument is a descriptor, see is_from_others() */
	WAITS_IF_NULL,	/* the argument is a pointer to a time limit */
	WAITS_IF_MINUS, /* the argument is a time limit in milliseconds */
	WAITS_FUTEX,
};

static const struct {
	long number;
	enum wait_kind kind;
	int arg;
} waits[] = {
	{ SYS_read, WAITS_ALWAYS, 0 },	       { SYS_recvfrom, WAITS_ALWAYS, 0 },      { SYS_recvmsg, WAITS_ALWAYS, 0 },
	{ SYS_futex, WAITS_FUTEX, 3 },	       { SYS_epoll_pwait, WAITS_IF_MINUS, 3 }, { SYS_ppoll, WAITS_IF_NULL, 2 },
	{ SYS_pselect6, WAITS_IF_NULL, 4 },
#ifdef SYS_epoll_wait
	{ SYS_epoll_wait, WAITS_IF_MINUS, 3 },
#endif
#ifdef SYS_poll
	{ SYS_poll, WAITS_IF_MINUS, 2 },
#endif
#ifdef SYS_select
	{ SYS_select, WAITS_IF_NULL, 4 },
#endif
};

static bool is_unlimited(enum wait_kind kind, const unsigned long long args[SYSCALL_ARGS], int arg)
{
	enum { OPERATION = 0x7f, WAIT = 0, WAIT_BITSET = 9 };
	switch (kind) {
	case WAITS_ALWAYS:
		return true;
	case WAITS_IF_NULL:
		return args[arg] == 0;
	case WAITS_IF_MINUS:
		return (int32_t)args[arg] == -1;
	case WAITS_FUTEX:
		return args[arg] == 0 && ((args[1] & OPERATION) == WAIT || (args[1] & OPERATION) == WAIT_BITSET);
	}
	return false;
}

bool rest_waits_without_limit(const char *syscall, int *ret_fd)
{
	long number;
	unsigned long long a[SYSCALL_ARGS];
	*ret_fd = -1;
	if (sscanf(syscall, "%ld %llx %llx %llx %llx %llx %llx", &number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]) !=
	    1 + SYSCALL_ARGS)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		if (waits[i].number != number)
			continue;
		if (waits[i].kind == WAITS_ALWAYS)
			*ret_fd = (int)a[0];
		return is_unlimited(waits[i].kind, a, waits[i].arg);
	}
	return false;
}

/* ---- files of /proc */

static bool read_text(int dir, const char *path, char text[static TEXT_MAX])
{
	AUTO(closep) int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);
	text[MAX(n, 0)] = '\0';
	return n > 0;
}

bool rest_has_no_alarm(const char *status)
{
	static const int signals[] = { SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGURG, SIGCONT };
	const char *at = strstr(status, "\nSigCgt:\t");
	unsigned long long caught, doubtful = 0;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		doubtful |= 1ull << (signals[i] - 1);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		doubtful |= 1ull << (i - 1);
	return at && sscanf(at, "\nSigCgt:\t%llx", &caught) == 1 && !(caught & doubtful);
}

unsigned rest_count_sockets(const char *table, unsigned uid)
{
	unsigned owner, n = 0;
	table += strcspn(table, "\n"); /* the heading */
	for (const char *line = table; *line; line += strcspn(line, "\n")) {
		line++;
		/* number, both addresses, state, queues, timer, retransmits, owner */
		n += sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %u", &owner) == 1 && owner == uid;
	}
	return n;
}

/* Adds the sockets of the session in one table. False if the table is too long to read at once. A missing table has
 * none. */
static bool add_sockets(const char *name, unsigned *sum)
{
	char path[32], text[TEXT_MAX], more;
	snprintf(path, sizeof(path), "/proc/net/%s", name);
	AUTO(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n < 0 || read(fd, &more, 1) != 0)
		return false;
	text[n] = '\0';
	*sum += rest_count_sockets(text, getuid());
	return true;
}

/* True if the session has at most max sockets in its network namespace. Those of root belong to the engine's
 * resolver. */
static bool has_few_sockets(unsigned max)
{
	static const char *const tables[] = { "tcp",	  "tcp6", "udp",  "udp6", "udplite",
					      "udplite6", "raw",  "raw6", "icmp", "icmp6" };
	unsigned n = 0;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		if (!add_sockets(tables[i], &n))
			return false;
	return n <= max;
}

static int open_process(pid_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Calls on() for each name that is a number. True if all calls return true and there are at most max. */
static bool each_number(int process, const char *folder, unsigned max, bool (*on)(int dir, const char *name, void *ctx),
			void *ctx)
{
	int fd = openat(process, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool fine = dir != NULL;
	if (!dir)
		closep(&fd);
	unsigned n = 0;
	for (struct dirent *e; fine && (e = readdir(dir));)
		if (*e->d_name != '.')
			fine = n++ < max && on(dirfd(dir), e->d_name, ctx);
	if (dir)
		closedir(dir);
	return fine && n > 0;
}

/* True if a read waits for another process or thread. A read of a file ends soon, even on a slow disk. */
static bool is_from_others(int dir, const char *thread, int fd)
{
	char path[64], target[64];
	snprintf(path, sizeof(path), "%.20s/fd/%d", thread, fd);
	ssize_t n = readlinkat(dir, path, target, sizeof(target) - 1);
	target[MAX(n, 0)] = '\0';
	return strncmp(target, "pipe:", 5) == 0 || strncmp(target, "socket:", 7) == 0 ||
	       streq(target, "anon_inode:[eventfd]");
}

static bool add_switches(int dir, const char *thread, uint64_t *switches)
{
	char path[64], text[TEXT_MAX];
	unsigned long long n;
	snprintf(path, sizeof(path), "%.20s/status", thread);
	const char *at = read_text(dir, path, text) ? strstr(text, "\nvoluntary_ctxt_switches:") : NULL;
	if (!at || sscanf(at, "\nvoluntary_ctxt_switches: %llu", &n) != 1)
		return false;
	*switches += n + 1; /* + 1, so that a new thread changes the sum too */
	return true;
}

static bool thread_waits(int dir, const char *name, void *ctx)
{
	char path[64], text[TEXT_MAX];
	int fd;
	snprintf(path, sizeof(path), "%.20s/syscall", name);
	return read_text(dir, path, text) && rest_waits_without_limit(text, &fd) &&
	       (fd < 0 || is_from_others(dir, name, fd)) && add_switches(dir, name, ctx);
}

/* Rejects timers and io_uring, whose requests the system processes by itself. */
static bool is_plain_file(int dir, const char *name, void *ctx)
{
	char target[64];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return !streq(target, "anon_inode:[timerfd]") && !streq(target, "anon_inode:[io_uring]");
}

/* The owner of /proc/PID is not always the process's user: a process can make it root. */
static unsigned is_foreign(pid_t pid, void *ctx)
{
	char text[TEXT_MAX];
	struct proc_stat st;
	unsigned uid;
	if (pid == 1 || pid == *(const pid_t *)ctx)
		return 0;
	AUTO(closep) int process = open_process(pid);
	if (process < 0 || proc_stat(pid, &st) < 0 || st.state == 'Z' || st.state == 'X')
		return 0;
	const char *at = read_text(process, "status", text) ? strstr(text, "\nUid:\t") : NULL;
	return !at || sscanf(at, "\nUid:\t%u", &uid) != 1 || uid == getuid();
}

/* True if the kernel is alone and cannot wake up by itself. The context switches of its threads show whether one
 * of them ran since the last check: two threads that wait for each other in turn may both be seen waiting. */
static bool is_safe_to_stop(pid_t kernel, unsigned own_sockets, uint64_t *ret_switches)
{
	uint64_t switches = 0;
	char text[TEXT_MAX];
	AUTO(closep) int process = open_process(kernel);
	bool safe = process >= 0 && read_text(process, "status", text) && rest_has_no_alarm(text) &&
		    each_number(process, "task", THREADS_MAX, thread_waits, &switches) &&
		    each_number(process, "fd", FDS_MAX, is_plain_file, NULL) && has_few_sockets(own_sockets) &&
		    proc_each(is_foreign, &kernel) == 0;
	*ret_switches = safe ? switches : 0;
	return safe;
}

/* True once every thread has stopped. */
static bool has_stopped(pid_t pid)
{
	struct proc_stat st;
	siginfo_t info = { 0 };
	return waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 && info.si_code == CLD_STOPPED &&
	       proc_stat(pid, &st) == 0 && st.state == 'T';
}

/* ---- states */

void rest_wake(struct rest *r, uint64_t now_ms)
{
	if (r->state != REST_AWAKE)
		(void)kill(r->pid, SIGCONT);
	if (r->state == REST_RESTING) {
		disk_resume(r->disk);
		sockets_start(r->sockets);
	}
	r->state = REST_AWAKE;
	r->switches = 0;
	r->pause_ms = AFTER_MS;
	r->due_ms = now_ms + AFTER_MS;
}

static void refuse(struct rest *r, uint64_t now_ms)
{
	uint64_t pause = MIN(MAX(2 * r->pause_ms, (uint64_t)AFTER_MS), (uint64_t)PAUSE_MAX_MS);
	rest_wake(r, now_ms);
	r->pause_ms = pause;
	r->due_ms = now_ms + pause;
}

void rest_child_changed(struct rest *r, uint64_t now_ms)
{
	if (r->state == REST_AWAKE)
		return;
	uint64_t switches;
	bool stopped = has_stopped(r->pid);
	if (r->state == REST_STOPPING && stopped && r->idle_kernel(r) == r->pid &&
	    is_safe_to_stop(r->pid, r->own_sockets, &switches)) {
		disk_pause(r->disk);
		sockets_pause(r->sockets);
		r->state = REST_RESTING;
	} else if (r->state == REST_RESTING ? !stopped : stopped) {
		refuse(r, now_ms);
	}
}

void rest_turn(struct rest *r, uint64_t now_ms)
{
	if (r->state == REST_RESTING) {
		if (!has_stopped(r->pid) || proc_each(is_foreign, &r->pid) > 0)
			refuse(r, now_ms);
		return;
	}
	if (now_ms < r->due_ms)
		return;
	uint64_t before = r->switches;
	pid_t kernel = r->state == REST_AWAKE ? r->idle_kernel(r) : 0;
	if (kernel <= 1 || !is_safe_to_stop(kernel, r->own_sockets, &r->switches)) {
		refuse(r, now_ms);
		return;
	}
	if (r->switches != before) {
		r->due_ms = now_ms + AFTER_MS;
		return;
	}
	r->pid = kernel;
	r->state = REST_STOPPING;
	r->due_ms = now_ms + STOP_MS;
	(void)kill(kernel, SIGSTOP);
}
