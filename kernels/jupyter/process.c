#include "kernels/jupyter/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define EXIT_NOT_STARTED 127

static _Noreturn void become(struct strv *argv, const struct strv *env, const int out_fds[2], pid_t parent)
{
	sigset_t none;
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(EXIT_NOT_STARTED);
	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 0; i < 2; i++)
		if (out_fds[i] >= 0 && dup2(out_fds[i], STDOUT_FILENO + i) < 0)
			_exit(EXIT_NOT_STARTED);
	for (size_t i = 0; i < env->n; i++)
		putenv(env->v[i]);
	execvp(argv->v[0], strv_argv(argv));
	/* Kernelspecs say "python" for the Python in which the kernel is installed. */
	if (streq(argv->v[0], "python"))
		execvp("python3", strv_argv(argv));
	dprintf(STDERR_FILENO, "husk-jupyter: cannot start '%s': %s\n", argv->v[0], strerror(errno));
	_exit(EXIT_NOT_STARTED);
}

pid_t process_start(struct strv *argv, const struct strv *env, const int out_fds[2], struct fail *f)
{
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		return fail_set(f, FAIL_INVALID, "cannot start the kernel: %m");
	if (pid == 0)
		become(argv, env, out_fds, parent);
	setpgid(pid, pid); /* the child does this too; the first call wins */
	return pid;
}

_Noreturn void process_end_like(int wait_status)
{
	if (WIFSIGNALED(wait_status)) {
		int signo = WTERMSIG(wait_status);
		sigset_t one;
		sigemptyset(&one);
		sigaddset(&one, signo);
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 }); /* do not overwrite the kernel's core dump */
		(void)signal(signo, SIG_DFL);
		sigprocmask(SIG_UNBLOCK, &one, NULL);
		raise(signo);
	}
	_exit(WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : EXIT_NOT_STARTED);
}
