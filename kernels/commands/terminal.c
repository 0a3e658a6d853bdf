#include "kernels/commands/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "kernels/commands/readers.h"
#include "kernels/guard/spawn.h"
#include "kernels/packages/install.h"
#include "kernels/system/clock.h"
#include "kernels/system/procs.h"

#define FORK_PATIENCE_MS 2000
#define FORK_RETRY_MS 100
#define TERM_PATIENCE_MS 500
#define KILL_PATIENCE_MS 5000
/* Several processes that end at once cause one check. */
#define READERS_CHECK_MS 2
/* How long to wait for readers if the command itself has no `>(`. They may be process substitutions of a script that
 * it ran (`exec > >(tee log)`), or a background job whose input has ended (`echo yes | server &`). */
#define READERS_PATIENCE_MS 3000
/* The type that the manager's terminal emulator understands. */
#define TERMINAL_TYPE "TERM=xterm-256color"
/* Processes that a command needs: the shell and one program. */
#define PIDS_NEEDED 2

static void start_or_retry(struct terminal *t);

static void set_env(struct strv *env, const struct strv *more)
{
	for (size_t i = 0; i < more->n; i++)
		strv_set_env(env, more->v[i]);
}

int terminal_init(struct terminal *t)
{
	t->bash = BASH_NONE;
	return pipes_open(&t->pipes, t->poller);
}

static void finish(struct terminal *t, const struct run_ending *e)
{
	struct run *run = take_ptr(t->run);
	timeout_stop(&t->limit);
	timeout_stop(&t->timer);
	disk_stop(&t->disk);
	bash_release(&t->bash);
	free(take_ptr(t->cwd));
	t->pid = 0;
	t->aside = false;
	pty_close(&t->pty);
	pipes_drain(&t->pipes);
	pipes_end(&t->pipes);
	run_end(run, e);
	t->on_idle(t);
}

/* ---- the end */

static pid_t spawn_installed(struct terminal *t);

/* The installer has ended. Code of a package may have changed any process, so all are killed and a new one reads
 * the versions. False if there is nothing to read. */
static bool begin_to_read_versions(struct terminal *t)
{
	if (t->reads_versions || t->stop || t->status || t->too_large)
		return false;
	t->reads_versions = true;
	if (!procs_end_all()) {
		t->stop = "error";
		return false;
	}
	install_open();
	closep(&t->bash.state_fd);
	t->pid = spawn_installed(t);
	if (t->pid > 0)
		return true;
	t->pid = 0;
	t->stop = "error";
	return false;
}

/* With every other process dead, nothing can change the files that are measured and kept next. */
static void end_install(struct terminal *t)
{
	if (!procs_end_all())
		t->stop = "error";
	if (t->reads_versions && !t->stop)
		install_report(t->run, t->bash.state_fd);
	t->too_large |= disk_count_now(&t->disk) != DISK_FINE;
	if (t->too_large)
		t->stop = "error";
}

static void take_state(struct terminal *t)
{
	struct stat st;
	if (t->aside || fstat(t->bash.state_fd, &st) < 0 || st.st_size <= 0)
		return;
	size_t size = MIN((size_t)st.st_size, (size_t)SHELL_STATE_MAX);
	AUTO(freep) char *data = xmalloc(size);
	AUTO(shell_state_release) struct shell_state after = { 0 };
	ssize_t n = pread(t->bash.state_fd, data, size, 0);
	if (n <= 0 || shell_state_parse(&after, data, (size_t)n) < 0)
		return;
	shell_state_undo(&after, t->state, &(struct shell_state){ .cwd = t->cwd, .env = t->run->env });
	shell_state_release(t->state);
	*t->state = after;
	after = (struct shell_state){ 0 };
}

static const char *detail_of(const struct terminal *t)
{
	if (t->too_large)
		return "The installed packages exceed their size limit.";
	if (t->disk_full)
		return "The home directory is full: the command and every other process but the interpreter were ended.";
	if (t->sockets_full)
		return "The session's sockets held too much data or made too many connections, or its processes held too many "
		       "file locks: the command and every other process but the interpreter were ended.";
	if (t->killed_all && WIFSIGNALED(t->status) && WTERMSIG(t->status) == SIGKILL)
		return "Every process in the container was ended to make room for a new kernel, this command too.";
	if (t->killed_all)
		return "Every process in the container had to be ended since the last command: background processes are gone.";
	if (t->made_room)
		return "The process limit was reached: every process of the session but the interpreter was ended, so that this command could run.";
	if (t->stop && streq(t->stop, "timeout"))
		return "The command ran longer than its limit; it and the processes it had started were ended.";
	if (t->stop)
		return "The command and the processes it had started were ended.";
	return NULL;
}

static void conclude(struct terminal *t)
{
	bool signalled = WIFSIGNALED(t->status);
	int code = signalled ? 128 + WTERMSIG(t->status) : WEXITSTATUS(t->status);
	if (t->run->kind == RUN_INSTALL && begin_to_read_versions(t))
		return;
	if (t->run->kind == RUN_INSTALL)
		end_install(t);
	else
		take_state(t);
	const char *detail = detail_of(t);
	bool disk_full = t->disk_full;
	t->killed_all = t->disk_full = t->sockets_full = false;
	finish(t, &(struct run_ending){
			  .ending = t->stop ? t->stop :
				    code    ? "error" :
					      "ok",
			  .has_exit_code = true,
			  .exit_code = code,
			  .signo = signalled ? WTERMSIG(t->status) : 0,
			  .detail = detail,
			  .cause = t->too_large ? "install_size" :
				   disk_full	? "disk" :
						  NULL,
		  });
}

static void on_check_readers(struct timeout *timer)
{
	struct terminal *t = container_of(timer, struct terminal, timer);
	uint64_t now = clock_now_ms();
	if (!t->run || t->stop)
		return;
	if (now >= t->readers_until_ms || !readers_left(-t->pid, t->kernels))
		conclude(t);
	else if (t->readers_until_ms != UINT64_MAX)
		timeout_start(t->poller, &t->timer, t->readers_until_ms - now, on_check_readers);
}

/* Called when the shell has ended. True if the run waits for processes that still read the shell's output. */
static bool wait_for_readers(struct terminal *t)
{
	if (t->stop || t->run->kind != RUN_TERMINAL || !readers_left(t->pid, t->kernels))
		return false;
	bool certain = strstr(t->run->text, ">(") != NULL;
	t->readers_until_ms = certain ? UINT64_MAX : clock_now_ms() + READERS_PATIENCE_MS;
	t->pid = -t->pid;
	if (!certain)
		timeout_start(t->poller, &t->timer, READERS_PATIENCE_MS, on_check_readers);
	return true;
}

void terminal_reaped(struct terminal *t, pid_t pid, int status)
{
	if (!t->run)
		return;
	if (t->pid < 0 && !t->stop)
		timeout_start(t->poller, &t->timer, READERS_CHECK_MS, on_check_readers);
	if (pid != t->pid)
		return;
	if (!t->stop && !t->disk_full && !t->sockets_full && !bash_has_begun(&t->bash)) {
		/* The spare was killed just before it got the command. */
		bash_release(&t->bash);
		t->pid = 0;
		start_or_retry(t);
		return;
	}
	t->status = status;
	bash_pass_early(&t->bash, t->run);
	if (wait_for_readers(t))
		return;
	/* A stopped command ends together with everything it started; processes that ignore SIGTERM get SIGKILL
	 * from the timer. */
	if (t->stop && timeout_active(&t->timer) && procs_count_session(pid)) {
		t->pid = -pid;
		return;
	}
	conclude(t);
}

/* ---- stopping */

static void on_unkillable(struct timeout *timer)
{
	struct terminal *t = container_of(timer, struct terminal, timer);
	if (t->run)
		finish(t, &(struct run_ending){ .ending = t->stop,
						.detail = "The command could not be killed; it was left running." });
}

static void on_term_patience(struct timeout *timer)
{
	struct terminal *t = container_of(timer, struct terminal, timer);
	if (!t->run)
		return;
	bool shell_is_gone = t->pid < 0;
	procs_kill_session(shell_is_gone ? -t->pid : t->pid);
	if (shell_is_gone)
		conclude(t);
	else
		timeout_start(t->poller, &t->timer, KILL_PATIENCE_MS, on_unkillable);
}

static void stop(struct terminal *t, const char *ending, int signo)
{
	if (!t->run || t->stop)
		return;
	t->stop = ending;
	if (t->pid == 0) {
		finish(t, &(struct run_ending){ .ending = ending, .detail = "The command had not started yet." });
		return;
	}
	pid_t group = t->pid < 0 ? -t->pid : t->pid;
	timeout_stop(&t->limit);
	timeout_start(t->poller, &t->timer, TERM_PATIENCE_MS, on_term_patience);
	kill(-group, signo);
	kill(-group, SIGCONT);
}

static void on_limit(struct timeout *timer)
{
	stop(container_of(timer, struct terminal, limit), "timeout", SIGTERM);
}

void terminal_interrupt(struct terminal *t)
{
	stop(t, "interrupted", SIGINT);
}

void terminal_input(struct terminal *t, const char *text, size_t n)
{
	pty_type(&t->pty, text, n);
}

void terminal_drain(struct terminal *t)
{
	pipes_drain(&t->pipes);
	pty_drain(&t->pty);
}

void terminal_forget(struct terminal *t)
{
	pty_close(&t->pty);
	t->run = t->pipes.run = NULL;
}

/* ---- the start */

/* An installer that ends slowly could still fill the disk, so it is killed at once. */
static void on_install_over(struct disk *d, enum disk_state state, const char *why)
{
	struct terminal *t = container_of(d, struct terminal, disk);
	t->too_large = true;
	stop(t, "error", SIGKILL);
	procs_kill_all();
}

static void watch_install(struct terminal *t)
{
	uint64_t limit = t->run->size_limit;
	t->disk = (struct disk){
		.poller = t->poller,
		.volumes = { { .path = DEPENDENCIES_PATH, .limit = limit, .solid = true },
			     { .path = "/tmp", .limit = 2 * limit } },
		.n = limit ? 2 : 0,
		.floor = t->floor,
		.on_over = on_install_over,
	};
	disk_start(&t->disk);
}

/* Sets TERM for this run only: it is undone with the rest of the run's own environment. */
static void set_terminal_type(struct strv *env)
{
	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], "TERM=", strlen("TERM=")) == 0)
			return;
	strv_add(env, TERMINAL_TYPE);
}

/* Starts an installer, or a bash that has its command as an argument. The pid or -errno. */
static pid_t spawn_argv(struct terminal *t, char *const *argv, char *const *env, const char *text, size_t len)
{
	AUTO(closep) int command = bash_text_file(text, len);
	AUTO(closep) int state = memfd_create("state", MFD_CLOEXEC);
	AUTO(closep) int out = pipes_writer(&t->pipes, RUN_STDOUT);
	AUTO(closep) int err = pipes_writer(&t->pipes, RUN_STDERR);
	if (command < 0 || state < 0 || out < 0 || err < 0)
		return command < 0 ? command : -EMFILE;
	pid_t pid = spawn_process(&(struct spawn_spec){
		.argv = argv,
		.env = env,
		.cwd = t->cwd ? t->cwd : t->state->cwd,
		.out_fd = out,
		.err_fd = err,
		.tty_fd = t->run->interactive ? t->pty.slave : 0,
		.fds = { { command, SHELL_COMMAND_FD }, { state, SHELL_STATE_FD } },
	});
	if (pid > 0)
		t->bash.state_fd = take_fd(state);
	return pid;
}

static pid_t spawn_installed(struct terminal *t)
{
	AUTO(strv_release) struct strv env = { 0 };
	install_env(&env, &t->state->env, t->late_env);
	free(t->cwd);
	t->cwd = xstrdup("/");
	return spawn_argv(t, t->installed->v, strv_argv(&env), t->run->text, t->run->text_len);
}

static pid_t spawn_tracing(struct terminal *t, const struct strv *env)
{
	char *argv[] = { (char *)SHELL_PATH,
			 (char *)"--noprofile",
			 (char *)"--norc",
			 (char *)"-c",
			 t->run->text,
			 (char *)"bash",
			 NULL };
	AUTO(strv_release) struct strv own = { 0 };
	shell_hold_back(&own, env);
	strv_set_env(&own, SHELL_PRELUDE_ENV);
	return spawn_argv(t, argv, strv_argv(&own), shell_prelude, strlen(shell_prelude));
}

static pid_t spawn_bash(struct terminal *t, const struct strv *env)
{
	int r = bash_start(&t->bash,
			   &(struct bash_spec){ .pipes = &t->pipes,
						.env = env,
						.cwd = t->cwd ? t->cwd : t->state->cwd,
						.tty_fd = t->run->interactive ? t->pty.slave : 0 },
			   t->run->text, t->run->text_len);
	return r < 0 ? r : t->bash.pid;
}

static bool traces(const struct run *run)
{
	return run->kind == RUN_TERMINAL && shell_may_trace(run->text, run->text_len);
}

/* The pid or -errno. */
static pid_t spawn_shell(struct terminal *t)
{
	AUTO(strv_release) struct strv env = { 0 };
	set_env(&t->state->env, t->more_env);
	strv_release(t->more_env);
	if (t->run->interactive) {
		int r = t->pty.run ? 0 : pty_open(&t->pty, t->poller, t->run);
		if (r < 0)
			return r;
		set_terminal_type(&t->run->env);
	}
	set_env(&env, &t->state->env);
	set_env(&env, &t->run->env);
	install_spare_proxies(&env, &t->run->direct);
	if (t->run->kind == RUN_INSTALL)
		return spawn_argv(t, t->installer->v, strv_argv(&env), t->run->text, t->run->text_len);
	return traces(t->run) ? spawn_tracing(t, &env) : spawn_bash(t, &env);
}

/* The pid, or 0 if there is no usable spare. An unusable spare is ended. */
static pid_t use_spare(struct terminal *t)
{
	const struct run *run = t->run;
	bool plain = run->kind == RUN_TERMINAL && !run->interactive && !run->cwd && !run->env.n && !traces(run);
	bool fits = plain && !t->more_env->n && t->spare->pipes == &t->pipes &&
		    bash_waits_in(t->spare, t->state->cwd) && limits_pids_left(t->limits, PIDS_NEEDED - 1);
	if (!fits || bash_give(t->spare, run->text, run->text_len) < 0) {
		bash_drop(t->spare);
		return 0;
	}
	t->bash = *t->spare;
	*t->spare = BASH_NONE;
	bash_pass_early(&t->bash, t->run);
	return t->bash.pid;
}

static void refuse(struct terminal *t, int error)
{
	AUTO(freep) char *detail = NULL;
	if (error == -EAGAIN && t->limits->pids_limit != LIMIT_UNKNOWN)
		detail = xasprintf(
			"The process limit (%llu) is reached, so no command can start. End processes or threads from a cell, or stop the session.",
			(unsigned long long)t->limits->pids_limit);
	else
		detail = xasprintf("The shell could not be started: %s.", strerror(-error));
	finish(t, &(struct run_ending){ .ending = "refused", .detail = detail });
}

static void on_fork_again(struct timeout *timer)
{
	struct terminal *t = container_of(timer, struct terminal, timer);
	if (t->run)
		start_or_retry(t);
}

static void start_or_retry(struct terminal *t)
{
	/* A shell that cannot fork is useless: it would retry for 15 seconds. */
	pid_t pid = t->spare->pid ? use_spare(t) : 0;
	if (!pid)
		pid = limits_pids_left(t->limits, PIDS_NEEDED) ? spawn_shell(t) : -EAGAIN;
	if (pid > 0) {
		t->pid = pid;
		timeout_start(t->poller, &t->limit, t->run->timeout_ms, on_limit);
		if (t->run->kind == RUN_INSTALL)
			watch_install(t);
	} else if (pid == -EAGAIN && clock_now_ms() < t->fork_until_ms) {
		timeout_start(t->poller, &t->timer, FORK_RETRY_MS, on_fork_again);
	} else if (pid == -EAGAIN && !t->made_room) {
		/* Most likely a fork bomb. Unless it is killed here, no command could run again, not even one that ends
		 * it. */
		t->made_room = true;
		t->fork_until_ms = clock_now_ms() + FORK_PATIENCE_MS;
		procs_kill_others(t->kernels);
		timeout_start(t->poller, &t->timer, FORK_RETRY_MS, on_fork_again);
	} else {
		refuse(t, pid);
	}
}

/* False if the requested directory cannot be entered; then the run has ended. */
static bool find_cwd(struct terminal *t)
{
	const char *wanted = t->run->cwd;
	if (!wanted)
		return true;
	t->cwd = spawn_path(wanted, t->state->cwd);
	if (spawn_can_enter(t->cwd))
		return true;
	AUTO(freep) char *detail = xasprintf("The directory '%s' does not exist or cannot be entered.", t->cwd);
	finish(t, &(struct run_ending){ .ending = "refused", .detail = detail, .cause = "no_directory" });
	return false;
}

void terminal_run(struct terminal *t, struct run *run)
{
	t->run = run;
	t->pid = 0;
	t->stop = NULL;
	t->made_room = t->too_large = t->reads_versions = false;
	t->fork_until_ms = clock_now_ms() + FORK_PATIENCE_MS;
	pipes_begin(&t->pipes, run);
	run_start(run);
	if (run->kind == RUN_INSTALL && !t->installer->n)
		finish(t,
		       &(struct run_ending){ .ending = "refused", .detail = "This runtime cannot install packages." });
	else if (find_cwd(t))
		start_or_retry(t);
}
