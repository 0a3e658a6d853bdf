#include "kernels/commands/bash.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "kernels/guard/spawn.h"

/* Far more than bash prints when it starts. */
#define EARLY_MAX 4096u

static int fill(int fd, const char *text, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, text + done, len - done, (off_t)done);
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

int bash_text_file(const char *text, size_t n)
{
	AUTO(closep) int fd = memfd_create("command", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	int r = fill(fd, text, n);
	return r < 0 ? r : take_fd(fd);
}

/* Opens all files that bash shares with PID 1, except its output. */
static int open_files(struct bash *b, int *ret_go, bool waits)
{
	int go[2];
	b->command_fd = memfd_create("command", MFD_CLOEXEC);
	b->state_fd = memfd_create("state", MFD_CLOEXEC);
	if (waits)
		b->early_fd = memfd_create("early", MFD_CLOEXEC);
	if (b->command_fd < 0 || b->state_fd < 0 || (waits && b->early_fd < 0) || pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	*ret_go = go[0];
	b->go_fd = go[1];
	return 0;
}

static int give(struct bash *b, const char *command, size_t n, const char go[static 2])
{
	int r = fill(b->command_fd, command, n);
	if (r < 0)
		return r;
	return write(b->go_fd, go, 2) == 2 ? 0 : -EPIPE;
}

static pid_t spawn(struct bash *b, const struct bash_spec *spec, int go)
{
	char *argv[] = { (char *)SHELL_PATH,
			 (char *)"--noprofile",
			 (char *)"--norc",
			 (char *)"-c",
			 (char *)shell_wrapper,
			 (char *)"bash",
			 NULL };
	AUTO(strv_release) struct strv env = { 0 };
	shell_hold_back(&env, spec->env);
	AUTO(closep) int out = spec->tty_fd ? -1 : pipes_writer(spec->pipes, RUN_STDOUT);
	AUTO(closep) int err = spec->tty_fd ? -1 : pipes_writer(spec->pipes, RUN_STDERR);
	if (!spec->tty_fd && (out < 0 || err < 0))
		return -EMFILE;
	return spawn_process(&(struct spawn_spec){
		.argv = argv,
		.env = strv_argv(&env),
		.cwd = spec->cwd,
		.out_fd = out,
		.err_fd = b->early_fd >= 0 ? b->early_fd : err,
		.tty_fd = spec->tty_fd,
		.fds = { { spec->tty_fd ? spec->tty_fd : err, SHELL_STDERR_FD },
			 { go, SHELL_GO_FD },
			 { b->command_fd, SHELL_COMMAND_FD },
			 { b->state_fd, SHELL_STATE_FD } },
	});
}

int bash_start(struct bash *ret, const struct bash_spec *spec, const char *command, size_t n)
{
	AUTO(bash_release) struct bash b = BASH_NONE;
	AUTO(closep) int go = -1;
	int r = open_files(&b, &go, !command);
	if (r == 0 && command)
		r = give(&b, command, n, SHELL_GO_AT_ONCE);
	if (r < 0)
		return r;
	pid_t pid = spawn(&b, spec, go);
	if (pid < 0)
		return pid;
	if (command)
		closep(&b.go_fd); /* if bash is killed while it starts, the command counts as killed */
	b.pid = pid;
	b.pipes = spec->pipes;
	*ret = b;
	b = BASH_NONE;
	return 0;
}

/* State of a child that is not reaped: CLD_EXITED, CLD_STOPPED, …; 0 = it runs. */
static int fate_of(pid_t pid)
{
	siginfo_t info = { 0 };
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 ? -1 : info.si_code;
}

bool bash_waits_in(const struct bash *b, const char *cwd)
{
	char path[64];
	struct stat there, here;
	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)b->pid);
	return b->pid && fate_of(b->pid) == 0 && spawn_can_enter(cwd) && stat(cwd, &there) == 0 &&
	       stat(path, &here) == 0 && there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

bool bash_may_wait_with(const struct strv *env)
{
	static const char *const beginnings[] = { "SECONDS=", "SHELLOPTS=", "BASHOPTS=" };
	for (size_t i = 0; i < env->n; i++)
		for (size_t k = 0; k < ARRAY_LEN(beginnings); k++)
			if (strncmp(env->v[i], beginnings[k], strlen(beginnings[k])) == 0)
				return false;
	return true;
}

int bash_give(struct bash *b, const char *command, size_t n)
{
	return give(b, command, n, SHELL_GO_AFTER_A_WAIT);
}

bool bash_has_begun(const struct bash *b)
{
	int left = 0;
	return b->go_fd < 0 || ioctl(b->go_fd, FIONREAD, &left) < 0 || left == 0;
}

void bash_end_stopped(const struct bash *b)
{
	if (b->pid && !bash_has_begun(b) && fate_of(b->pid) == CLD_STOPPED)
		kill(b->pid, SIGKILL);
}

void bash_pass_early(struct bash *b, struct run *run)
{
	char text[EARLY_MAX];
	size_t left = sizeof(text) - b->early_reported;
	ssize_t n = b->early_fd < 0 ? 0 : pread(b->early_fd, text, left, (off_t)b->early_reported);
	if (n <= 0)
		return;
	b->early_reported += (size_t)n;
	run_output(run, RUN_STDERR, text, (size_t)n);
}

void bash_drop(struct bash *b)
{
	if (b->pid)
		kill(b->pid, SIGKILL);
	bash_release(b);
}

void bash_release(struct bash *b)
{
	closep(&b->go_fd);
	closep(&b->command_fd);
	closep(&b->state_fd);
	closep(&b->early_fd);
	*b = BASH_NONE;
}
