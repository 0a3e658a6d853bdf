#include "kernels/guard/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "kernels/entry.h"
#include "kernels/guard/guard.h"
#include "kernels/guard/landlock.h"
#include "kernels/protocol.h"

#define EXIT_NOT_STARTED 127
/* Temporary numbers for descriptors until their final numbers, which are lower, are free. */
#define PARKED_FD_MIN 202
/* Holds the Landlock rules until the program starts. */
#define RULES_FD 200
/* PID 1 and attach keep nice 0, so they get CPU time however many processes of the session spin. The lower priority
 * costs those processes nothing: weights are compared only within the container's cgroup, where they all have the same
 * one. */
#define CHILD_NICE 5

/* The OOM killer kills these before PID 1, which must survive to report it. */
#define CHILD_OOM_SCORE_ADJ "1000"

static void say(const char *what, const char *name)
{
	dprintf(STDERR_FILENO, "husk: %s '%s': %s\n", what, name, strerror(errno));
}

static _Noreturn void give_up(const char *what, const char *name)
{
	say(what, name);
	_exit(EXIT_NOT_STARTED);
}

/* Otherwise every program would ignore the signals that the engine ignores. */
static void reset_signals(void)
{
	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_DFL);
}

static void unblock_signals(void)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_from(unsigned first)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return;
#endif
	struct rlimit limit;
	unsigned max =
		getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (unsigned)limit.rlim_cur : 65536;
	for (unsigned fd = first; fd < max; fd++)
		close((int)fd);
}

static void close_between(unsigned first, unsigned last)
{
#ifdef SYS_close_range
	if (syscall(SYS_close_range, first, last, 0) == 0)
		return;
#endif
	for (unsigned fd = first; fd <= last; fd++)
		close((int)fd);
}

/* Two steps, since a final number may belong to a descriptor that is still needed. */
static void place_fds(const struct spawn_spec *spec, int rules)
{
	int input = spec->in_fd ? spec->in_fd : open("/dev/null", O_RDONLY | O_CLOEXEC);
	int from[4 + SPAWN_FDS_MAX] = { input, spec->out_fd, spec->err_fd };
	for (int i = 0; i < 3 && spec->tty_fd; i++)
		from[i] = spec->tty_fd;
	int to[4 + SPAWN_FDS_MAX] = { 0, 1, 2 };
	size_t n = 3;
	for (size_t i = 0; i < SPAWN_FDS_MAX; i++) {
		if (!spec->fds[i].number)
			continue;
		from[n] = spec->fds[i].fd;
		to[n++] = spec->fds[i].number;
	}
	if (rules > 0) {
		from[n] = rules;
		to[n++] = RULES_FD;
	}
	for (size_t i = 0; i < n; i++)
		from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, PARKED_FD_MIN);
	int highest = 2;
	for (size_t i = 0; i < n; i++) {
		if (from[i] < 0 || dup3(from[i], to[i], to[i] == RULES_FD ? O_CLOEXEC : 0) < 0)
			_exit(EXIT_NOT_STARTED);
		highest = MAX(highest, to[i]);
	}
	unsigned first = 3; /* start of the next range to close */
	for (unsigned fd = 3; fd <= (unsigned)highest; fd++) {
		bool wanted = false;
		for (size_t i = 3; i < n; i++)
			wanted |= to[i] == (int)fd;
		if (!wanted)
			continue;
		if (first < fd)
			close_between(first, fd - 1);
		first = fd + 1;
	}
	close_from((unsigned)highest + 1);
}

static void enter_cwd(const char *cwd)
{
	if (chdir(cwd) == 0)
		return;
	if (streq(cwd, SPAWN_WORKSPACE) || chdir(SPAWN_WORKSPACE) < 0) {
		dprintf(STDERR_FILENO, "husk: the directory '%s' is gone, running in /\n", cwd);
		if (chdir("/") < 0)
			give_up("cannot enter", "/");
		return;
	}
	dprintf(STDERR_FILENO, "husk: the directory '%s' is gone, running in " SPAWN_WORKSPACE "\n", cwd);
}

/* A fork of PID 1 is not dumpable, just like PID 1, and such a process may not write oom_score_adj. So it becomes
 * dumpable: it now holds no secrets, and the only descriptor worth stealing is that of the Landlock rules. Processes
 * that might change those rules are already in a domain, and cannot access a process outside of it. If this fails the
 * program runs anyway: some engines hide the file. */
static void offer_to_oom_killer(void)
{
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, CHILD_OOM_SCORE_ADJ, strlen(CHILD_OOM_SCORE_ADJ)) < 0)
		say("cannot write", "/proc/self/oom_score_adj");
	close(fd);
}

static _Noreturn void become(const struct spawn_spec *spec, int rules)
{
	setsid();
	unblock_signals();
	place_fds(spec, rules);
	if (spec->tty_fd && ioctl(0, TIOCSCTTY, 0) < 0)
		give_up("cannot control", "its terminal");
	umask(022);
	enter_cwd(spec->cwd);
	setpriority(PRIO_PROCESS, 0, CHILD_NICE);
	offer_to_oom_killer();
	int r = rules < 0 ? rules : landlock_enforce(rules ? RULES_FD : 0);
	if (r < 0) {
		errno = -r;
		give_up("cannot enforce", "the Landlock rules");
	}
	execve(spec->argv[0], spec->argv, spec->env);
	give_up("cannot start", spec->argv[0]);
}

bool spawn_can_enter(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && access(path, X_OK) == 0;
}

char *spawn_path(const char *path, const char *from)
{
	size_t home = entry_home(path);
	if (home)
		return xasprintf(HOME_PATH "%s", path + home);
	return *path == '/' ? xstrdup(path) : xasprintf("%s/%s", from, path);
}

int spawn_prepare(void)
{
	reset_signals();
	return guard_install();
}

pid_t spawn_process(const struct spawn_spec *spec)
{
	/* The usual rules are made once: the directories in them are mounts or part of the image, and do not change. */
	static int usual = -ENOENT;
	if (usual < 0)
		usual = landlock_rules(0);
	int rules = usual > 0 && spec->tty_fd ? landlock_rules(spec->tty_fd) : usual;
	pid_t pid = fork();
	if (pid == 0)
		become(spec, rules);
	pid = pid < 0 ? -errno : pid;
	if (rules > 0 && rules != usual)
		close(rules);
	return pid;
}
