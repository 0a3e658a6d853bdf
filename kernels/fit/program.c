#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "kernels/fit/fit.h"
#include "kernels/protocol.h"

#define TEXT_MAX 16384u
#define SECONDS 300

char *fit_place(const struct fit *f, const char *path)
{
	return xasprintf("%s%s", f->root, path);
}

static bool is_program(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *fit_find(const struct fit *f, const char *name)
{
	AUTO(freep) char *copy = xstrdup(f->path);
	for (char *rest = copy, *folder; (folder = strsep(&rest, ":"));) {
		if (*folder != '/')
			continue;
		AUTO(freep) char *inside = xasprintf("%s/%s", folder, name);
		AUTO(freep) char *place = fit_place(f, inside);
		if (is_program(place))
			return take_ptr(inside);
	}
	return NULL;
}

static _Noreturn void become(char *const *argv, int out, bool sandbox)
{
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	setpgid(0, 0);
	if (sandbox && (setgroups(0, NULL) < 0 || setresgid(SANDBOX_GID, SANDBOX_GID, SANDBOX_GID) < 0 ||
			setresuid(SANDBOX_UID, SANDBOX_UID, SANDBOX_UID) < 0))
		dprintf(STDERR_FILENO, "cannot become the sandbox user: %s\n", strerror(errno)), _exit(126);
	if (setenv("HOME", "/tmp", 1) == 0)
		execv(argv[0], argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads until the program closes the pipe; false = timed out. */
static bool listen_to(int in, struct buf *text)
{
	int64_t end = now_ms() + SECONDS * 1000;
	for (;;) {
		struct pollfd p = { .fd = in, .events = POLLIN };
		int64_t left = end - now_ms();
		char piece[4096];
		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return false;
		ssize_t n = read(in, piece, sizeof(piece));
		if (n <= 0)
			return n == 0;
		if (text->len < TEXT_MAX)
			buf_add(text, piece, MIN((size_t)n, TEXT_MAX - text->len));
	}
}

int fit_run(const struct fit *f, char *const *argv, bool as_sandbox, char **ret_text)
{
	struct buf text = { 0 };
	int ends[2], status = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		become(argv, ends[1], as_sandbox && f->as_root);
	close(ends[1]);
	bool in_time = pid > 0 && listen_to(ends[0], &text);
	close(ends[0]);
	if (pid > 0 && !in_time)
		kill(-pid, SIGKILL);
	if (pid > 0)
		waitpid(pid, &status, 0);
	*ret_text = buf_steal_str(&text);
	return in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}
