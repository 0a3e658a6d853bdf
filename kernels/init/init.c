#include "kernels/init/init.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "kernels/cells/kernel.h"
#include "kernels/commands/terminals.h"
#include "kernels/control/controller.h"
#include "kernels/control/dial.h"
#include "kernels/disk/disk.h"
#include "kernels/guard/landlock.h"
#include "kernels/guard/sockets.h"
#include "kernels/guard/spawn.h"
#include "kernels/init/info.h"
#include "kernels/init/lease.h"
#include "kernels/init/rest.h"
#include "kernels/system/clock.h"
#include "kernels/system/procs.h"

#define TICK_MS 1000
/* For a kernel to list its variables. */
#define LOOK_LIMIT_MS 2000
/* A dying PID 1 takes attach with it: the last frames get this long to be read. */
#define FAREWELL_MS 300
/* Orphans of a fork bomb come by the thousand; other work goes on in between. */
#define REAPS_A_TURN 2000

struct init {
	const struct init_options *options;
	struct poller poller;
	struct watch signals;
	int signal_fd;
	bool reap_again;
	struct lease lease;
	bool claimed;
	char session[SESSION_ID_LEN + 1];
	struct limits limits;
	struct manifest manifest;
	struct strv env; /* of every child */
	const char *cwd; /* of kernels; ours */
	struct runs runs;
	struct controller controller;
	struct dial dial;
	struct kernel kernel;
	struct terminals terminals;
	struct consoles consoles;
	struct disk home;
	struct sockets sockets;
	struct rest rest;

	uint32_t look; /* the question that waits for the kernel's answer; 0 = none */
	struct timeout look_limit;

	bool ending;
	int exit_status;
	uint64_t farewell_until_ms;
};

/* ---- the end */

/* Whatever was still running gets its END too: no call is left without one. */
static void end_runs(struct init *i, const char *ending, const char *cause, const char *detail)
{
	list_for_each(c, &i->runs.list, struct run, node) {
		if (c->state == RUN_ENDED)
			continue;
		run_end(c, &(struct run_ending){
				   .ending = ending,
				   .kernel = "gone",
				   .detail = detail,
				   .cause = cause,
			   });
	}
	i->kernel.pipes.run = NULL;
	i->kernel.cell.run = NULL;
	terminals_forget(&i->terminals);
}

static void end_with_event(struct init *i, int status, const char *cause, const char *ending, const char *detail)
{
	if (i->ending)
		return;
	i->ending = true;
	i->exit_status = status;
	i->farewell_until_ms = clock_now_ms() + FAREWELL_MS;
	procs_kill_all();
	pipes_drain(&i->kernel.pipes);
	terminals_drain(&i->terminals);
	end_runs(i, ending, streq(cause, "disk") ? cause : NULL, detail);
	json_auto_t *event = json_pack("{s:s, s:s, s:s}", "event", "ending", "cause", cause, "detail", detail);
	controller_event(&i->controller, event);
}

/* Whoever fills the home directory is stopped; files and variables stay, so that it can be tidied up. */
static void on_home_over(struct disk *d, enum disk_state state, const char *why)
{
	struct init *i = container_of(d, struct init, home);
	if (state == DISK_BEYOND) {
		AUTO(freep) char *detail = xasprintf("The session ends, since it %s.", why);
		end_with_event(i, INIT_EXIT_OK, "disk", "error", detail);
		return;
	}
	terminals_disk_full(&i->terminals);
	consoles_explain(&i->consoles, "The home directory is full: every process but the interpreter was ended.");
	kernel_disk_full(&i->kernel);
	procs_kill_others(i->kernel.pid);
}

/* What holds the sockets is not known: first all but the interpreter, then it as well. */
static void on_sockets_over(struct sockets *s, unsigned times, const char *why)
{
	struct init *i = container_of(s, struct init, sockets);
	if (i->ending)
		return;
	AUTO(freep) char *text = xasprintf("The session's processes %s: every process %swas ended.", why,
					   times > 1 ? "" : "but the interpreter ");
	terminals_sockets_full(&i->terminals);
	consoles_explain(&i->consoles, text);
	procs_kill_others(i->kernel.pid);
	if (times > 1)
		kernel_kill(&i->kernel, SOCKETS_KILLED);
}

static bool is_at_rest(const struct terminals *t)
{
	const struct init *i = container_of(t, struct init, terminals);
	return !i->ending && kernel_idle(&i->kernel) && list_empty(&i->consoles.list) && !terminals_busy(t);
}

static void watch_sockets(struct init *i, int diag)
{
	i->sockets = (struct sockets){
		.poller = &i->poller,
		.diag = diag,
		.limit = sockets_limit(i->limits.memory_limit),
		.on_over = on_sockets_over,
	};
	sockets_start(&i->sockets);
}

static void watch_home(struct init *i)
{
	if (i->options->install || !i->options->home_size)
		return;
	i->home = (struct disk){
		.poller = &i->poller,
		.volumes = { { .path = HOME_VOLUME, .limit = i->options->home_size } },
		.n = 1,
		.floor = i->options->disk_floor,
		.on_over = on_home_over,
	};
	disk_start(&i->home);
}

/* The kernel, if nothing else is under way: no call, console, shell or retry, and no timer but those of the watches. */
static pid_t idle_kernel(const struct rest *r)
{
	const struct init *i = container_of(r, struct init, rest);
	size_t watches = (size_t)timeout_active(&i->home.timer) + (size_t)timeout_active(&i->sockets.timer);
	bool idle = is_at_rest(&i->terminals) && !i->terminals.spare.pid && !i->home.under_way && !i->sockets.busy &&
		    !i->dial.again_ms && poller_timeouts(&i->poller) == watches;
	return idle ? i->kernel.pid : 0;
}

/* Signals are told apart in on_signals(): a stop of the kernel's is one, too. */
static void on_ready(struct poller *p, const struct watch *w)
{
	struct init *i = container_of(p, struct init, poller);
	if (w != &i->signals)
		rest_wake(&i->rest, clock_now_ms());
}

static void let_rest(struct init *i)
{
	i->rest = (struct rest){ .disk = &i->home, .sockets = &i->sockets, .idle_kernel = idle_kernel };
	i->rest.own_sockets = i->manifest.tcp_port ? REST_LINK_SOCKETS : 0;
	i->poller.on_ready = on_ready;
}

static void end_now(struct init *i, int status)
{
	i->ending = true;
	i->exit_status = status;
	i->farewell_until_ms = 0;
}

static void check_lease(struct init *i)
{
	switch (lease_tick(&i->lease, clock_now_ms(), clock_boot_ms())) {
	case LEASE_RUNS:
		break;
	case LEASE_OVER:
		end_now(i, INIT_EXIT_OK);
		break;
	case LIFETIME_OVER:
		end_with_event(i, INIT_EXIT_OK, "lifetime", "interrupted",
			       "The session has reached the end of its lifetime.");
		break;
	}
}

/* ---- calls */

static void pump_kernel(struct init *i)
{
	struct run *run = i->ending || !kernel_idle(&i->kernel) ? NULL : runs_next(&i->runs, RUN_EXECUTE);
	if (run && terminals_drop_spare(&i->terminals))
		kernel_run(&i->kernel, run);
}

static void pump_terminal(struct init *i)
{
	enum run_kind kind = i->options->install ? RUN_INSTALL : RUN_TERMINAL;
	struct run *run = i->ending || !terminals_idle(&i->terminals) ? NULL : runs_next(&i->runs, kind);
	if (run)
		terminals_run(&i->terminals, run);
}

static void on_kernel_idle(struct kernel *k)
{
	struct init *i = container_of(k, struct init, kernel);
	pump_kernel(i);
	terminals_rest(&i->terminals);
}

static void on_terminal_idle(struct terminals *t)
{
	pump_terminal(container_of(t, struct init, terminals));
	terminals_rest(t);
}

static bool is_known(const struct kernel *k, pid_t session)
{
	const struct init *i = container_of(k, struct init, kernel);
	return terminals_own(&i->terminals, session) || consoles_own(&i->consoles, session);
}

static void on_console(struct consoles *c)
{
	(void)terminals_drop_spare(&container_of(c, struct init, consoles)->terminals);
}

static void on_spare_gone(struct terminals *t)
{
	pump_kernel(container_of(t, struct init, terminals));
}

static void on_kernel_event(struct kernel *k, json_t *event)
{
	struct init *i = container_of(k, struct init, kernel);
	if (!kernel_idle(k))
		(void)terminals_drop_spare(&i->terminals);
	controller_event(&i->controller, event);
}

static void on_killed_all(struct kernel *k)
{
	struct init *i = container_of(k, struct init, kernel);
	terminals_killed_all(&i->terminals);
	consoles_explain(&i->consoles, "Every process in the container was ended to make room for a new kernel.");
}

static void on_kernel_failed(struct kernel *k, const char *cause)
{
	struct init *i = container_of(k, struct init, kernel);
	AUTO(freep) char *detail =
		xasprintf("The session ends, since no kernel could be started: the last one %s.", cause);
	end_with_event(i, INIT_EXIT_FAILED, "kernel_failed", "kernel_died", detail);
}

/* A container either installs packages or runs code: what an install leaves behind is kept for other sessions, so nobody's
 * code may have run beside it. */
static bool fits(const struct init *i, const struct run *run)
{
	return (run->kind == RUN_INSTALL) == i->options->install;
}

/* The call of its kind that runs in its way; 0 = none. */
static uint32_t runs_before(const struct init *i, const struct run *run)
{
	const struct run *ahead = run->kind == RUN_EXECUTE ? i->kernel.cell.run : i->terminals.front->run;
	return run->state == RUN_QUEUED && ahead ? ahead->number : 0;
}

static void on_run(struct controller *c, struct run *run)
{
	struct init *i = container_of(c, struct init, controller);
	if (run->restart && run->state == RUN_QUEUED)
		kernel_interrupt(&i->kernel);
	if (run->state == RUN_QUEUED && !fits(i, run))
		run_end(run,
			&(struct run_ending){ .ending = "refused",
					      .detail = i->options->install ? "This container only installs." :
									      "This container installs nothing." });
	else if (run->kind == RUN_EXECUTE)
		pump_kernel(i);
	else
		pump_terminal(i);
	run->behind = runs_before(i, run);
}

static void on_interrupt(struct controller *c, struct run *run)
{
	struct init *i = container_of(c, struct init, controller);
	if (run->state == RUN_QUEUED)
		run_end(run,
			&(struct run_ending){ .ending = "interrupted", .detail = "The call had not started yet." });
	else if (run->kind == RUN_EXECUTE)
		kernel_interrupt(&i->kernel);
	else
		terminals_interrupt(&i->terminals, run);
}

static void on_take(struct controller *c, struct run *run)
{
	struct init *i = container_of(c, struct init, controller);
	if (run->kind == RUN_EXECUTE)
		pipes_drain(&i->kernel.pipes);
	else
		terminals_drain(&i->terminals);
	terminals_make_way(&i->terminals);
	run_mark(run);
}

static void on_input(struct controller *c, struct run *run, const char *text, size_t n)
{
	struct init *i = container_of(c, struct init, controller);
	if (run->kind == RUN_EXECUTE)
		kernel_input(&i->kernel, text, n);
	else
		terminals_input(&i->terminals, run, text, n);
}

static void on_frame(struct controller *c)
{
	lease_renew(&container_of(c, struct init, controller)->lease, clock_now_ms());
}

/* Which session the container belongs to, the state of its kernel, and how long it may live. */
static void add_state(const struct init *i, json_t *to)
{
	if (i->claimed)
		json_object_set_new(to, "session", json_string(i->session));
	json_object_set_new(to, "kernel", json_string(i->options->install ? "none" : kernel_state_name(&i->kernel)));
	json_object_set_new(to, "lease_seconds", json_integer((json_int_t)(i->lease.lease_ms / 1000)));
	if (i->lease.lifetime_ms)
		json_object_set_new(
			to, "lifetime_left_seconds",
			json_integer((json_int_t)(lease_lifetime_left_ms(&i->lease, clock_boot_ms()) / 1000)));
}

static void on_hello(struct controller *c, json_t *hello)
{
	struct init *i = container_of(c, struct init, controller);
	lease_renew(&i->lease, clock_now_ms());
	json_object_set_new(hello, "runtime", json_string(i->manifest.name));
	json_object_set_new(hello, "language_version", json_string(i->kernel.language_version));
	json_object_set_new(hello, "landlock", json_integer(landlock_version()));
	json_object_set_new(hello, "consoles", json_integer(CONSOLES_MAX));
	json_object_set_new(hello, "programs", json_true());
	json_object_set_new(hello, "queries", json_true());
	json_object_set_new(hello, "links", json_true());
	add_state(i, hello);
}

/* NULL, or why there is no such place. */
static char *take_cwd(struct init *i, const char *cwd)
{
	if (!cwd)
		return NULL;
	AUTO(freep) char *path = spawn_path(cwd, SPAWN_WORKSPACE);
	if (!spawn_can_enter(path))
		return xasprintf("The directory '%s' does not exist or cannot be entered.", path);
	terminals_set_cwd(&i->terminals, path);
	i->cwd = take_ptr(path);
	return NULL;
}

static void set_terms(struct init *i, const struct claim *claim)
{
	memcpy(i->session, claim->session, sizeof(i->session));
	lease_claim(&i->lease, claim->lease_ms, claim->lifetime_ms, clock_now_ms(), clock_boot_ms());
	for (size_t k = 0; k < claim->env.n; k++)
		strv_set_env(&i->env, claim->env.v[k]);
	terminals_add_env(&i->terminals, &claim->env);
	if ((claim->env.n || claim->cwd) && !i->options->install)
		kernel_restart(&i->kernel);
}

static json_t *on_claim(struct controller *c, const struct claim *claim)
{
	struct init *i = container_of(c, struct init, controller);
	if (i->claimed && !streq(i->session, claim->session))
		return NULL;
	AUTO(freep) char *refused = i->claimed ? NULL : take_cwd(i, claim->cwd);
	if (!i->claimed && !refused) {
		i->claimed = true;
		set_terms(i, claim);
	}
	json_t *answer = json_pack("{s:s, s:s*}", "event", "claimed", "refused", refused);
	add_state(i, answer);
	return answer;
}

/* ---- how it stands */

static void tell(struct init *i)
{
	uint32_t call = i->look;
	i->look = 0;
	timeout_stop(&i->look_limit);
	json_auto_t *info = json_object();
	add_state(i, info);
	info_add_figures(info, &i->home, &i->limits);
	if (i->kernel.variables.list) {
		json_object_set(info, "variables", i->kernel.variables.list);
		json_object_set_new(info, "more", json_integer((json_int_t)i->kernel.variables.more));
		json_object_set_new(info, "fresh", json_boolean(i->kernel.looked));
	}
	controller_info(&i->controller, call, info);
}

static void on_variables(struct kernel *k)
{
	struct init *i = container_of(k, struct init, kernel);
	if (i->look)
		tell(i);
}

static void on_look_limit(struct timeout *t)
{
	tell(container_of(t, struct init, look_limit));
}

/* A kernel that is at work is not disturbed: what was known before has to do. */
static void on_look(struct controller *c, uint32_t call)
{
	struct init *i = container_of(c, struct init, controller);
	i->look = call;
	if (i->kernel.looked || !kernel_look(&i->kernel))
		tell(i);
	else
		timeout_start(&i->poller, &i->look_limit, LOOK_LIMIT_MS, on_look_limit);
}

static void on_query(struct controller *c, uint32_t call, const json_t *question)
{
	struct init *i = container_of(c, struct init, controller);
	static const char none[] = "{\"status\":\"cannot\"}";
	if (i->options->install || i->ending)
		controller_answer(c, call, none, sizeof(none) - 1);
	else
		kernel_ask(&i->kernel, call, question);
}

static void on_answer(struct kernel *k, uint32_t number, const void *json, size_t n)
{
	controller_answer(&container_of(k, struct init, kernel)->controller, number, json, n);
}

static void on_stop(struct controller *c)
{
	end_now(container_of(c, struct init, controller), INIT_EXIT_OK);
}

/* ---- processes and signals */

static void reap(struct init *i)
{
	i->reap_again = false;
	for (int n = 0; n < REAPS_A_TURN; n++) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);
		if (pid <= 0)
			return;
		rest_wake(&i->rest, clock_now_ms());
		if (i->ending)
			continue;
		kernel_reaped(&i->kernel, pid, status);
		terminals_reaped(&i->terminals, pid, status);
		consoles_reaped(&i->consoles, pid, status);
	}
	i->reap_again = true;
}

/* A plain kill() from outside our pid namespace shows pid 0. One from inside shows its sender; one that sandbox code
 * provokes by a descriptor's owner (F_SETOWN, F_SETSIG) shows pid 0 as well, but another code. */
static bool from_outside(const struct signalfd_siginfo *info)
{
	return info->ssi_pid == 0 && info->ssi_code == SI_USER;
}

static bool is_fatal(uint32_t signo)
{
	return signo == SIGTERM || signo == SIGINT || signo == SIGHUP || signo == SIGQUIT || signo == SIGPWR;
}

static void on_signals(struct watch *w, short revents)
{
	struct init *i = container_of(w, struct init, signals);
	struct signalfd_siginfo info[16];
	ssize_t n = read(i->signal_fd, info, sizeof(info));
	for (ssize_t k = 0; k < n / (ssize_t)sizeof(info[0]); k++)
		if (is_fatal(info[k].ssi_signo) && from_outside(&info[k]))
			end_now(i, 128 + (int)info[k].ssi_signo);
	rest_child_changed(&i->rest, clock_now_ms());
	terminals_changed(&i->terminals);
	reap(i);
}

static int watch_signals(struct init *i)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	i->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	if (i->signal_fd < 0)
		return -errno;
	watch_start(&i->poller, &i->signals, i->signal_fd, POLLIN, on_signals);
	return 0;
}

/* ---- set-up */

/* Children get our environment without our own variables, plus what the runtime asks for. */
static void make_env(struct init *i)
{
	for (char **v = environ; *v; v++)
		if (strncmp(*v, "HUSK_", 5) != 0)
			strv_set_env(&i->env, *v);
	for (size_t k = 0; k < i->manifest.env.n; k++)
		strv_set_env(&i->env, i->manifest.env.v[k]);
	/* What pip, npm and R unpack is larger than memory. */
	if (i->options->home_size)
		strv_set_env(&i->env, "TMPDIR=" HOME_TMP);
}

/* The volume is everybody's, like /tmp, so that it need not know who will use it. */
static void make_home(const struct init *i)
{
	if (!i->options->home_size)
		return;
	if ((mkdir(HOME_PATH, 0755) < 0 || mkdir(HOME_TMP, 0700) < 0) && errno != EEXIST)
		dprintf(STDERR_FILENO, "husk-client: cannot make the home directory: %s\n", strerror(errno));
}

static int start_controller(struct init *i)
{
	runs_init(&i->runs, &i->limits);
	i->consoles = (struct consoles){
		.poller = &i->poller,
		.sender = &i->controller.sender,
		.limits = &i->limits,
		.state = &i->terminals.state,
		.more_env = &i->terminals.more_env,
		.refuses = i->options->install,
		.on_open = on_console,
	};
	consoles_init(&i->consoles);
	i->controller = (struct controller){
		.poller = &i->poller,
		.runs = &i->runs,
		.consoles = &i->consoles,
		.home = &i->home,
		.on_frame = on_frame,
		.on_hello = on_hello,
		.on_claim = on_claim,
		.on_run = on_run,
		.on_interrupt = on_interrupt,
		.on_take = on_take,
		.on_input = on_input,
		.on_look = on_look,
		.on_query = on_query,
		.on_stop = on_stop,
	};
	return controller_init(&i->controller);
}

static int start_terminal(struct init *i)
{
	i->terminals = (struct terminals){
		.poller = &i->poller,
		.limits = &i->limits,
		.kernel = &i->kernel.pid,
		.installer = &i->manifest.installer,
		.relay = &i->controller.relay,
		.floor = i->options->disk_floor,
		.on_idle = on_terminal_idle,
		.is_at_rest = is_at_rest,
		.on_gone = on_spare_gone,
	};
	return terminals_init(&i->terminals, &i->env);
}

static int prepare_kernel(struct init *i)
{
	i->kernel = (struct kernel){
		.poller = &i->poller,
		.manifest = &i->manifest,
		.env = &i->env,
		.cwd = &i->cwd,
		.limits = &i->limits,
		.start_ms = i->options->start_ms,
		.on_idle = on_kernel_idle,
		.on_event = on_kernel_event,
		.on_killed_all = on_killed_all,
		.on_failed = on_kernel_failed,
		.is_known = is_known,
		.on_variables = on_variables,
		.on_answer = on_answer,
	};
	return kernel_init(&i->kernel, i->options->grace_ms, i->manifest.interrupt);
}

/* The control socket comes first, so that nobody else can take its name, and the signals before anything is started. */
static int set_up(struct init *i)
{
	struct fail f AUTO(fail_release) = { 0 };
	poller_init(&i->poller);
	limits_open(&i->limits, i->options->cgroup);
	lease_init(&i->lease, i->options->lease_ms, i->options->lifetime_ms, clock_now_ms(), clock_boot_ms());
	int r = start_controller(i);
	dial_init(&i->dial, &i->poller, &i->controller);
	if (r < 0)
		return dprintf(STDERR_FILENO, "husk-client: cannot listen for the manager: %s\n", strerror(-r)), r;
	r = watch_signals(i);
	if (r < 0)
		return dprintf(STDERR_FILENO, "husk-client: cannot watch signals: %s\n", strerror(-r)), r;
	if (manifest_load(&i->manifest, i->options->manifest, &f) < 0)
		return dprintf(STDERR_FILENO, "husk-client: %s\n", f.message), -EINVAL;
	make_env(i);
	i->cwd = SPAWN_WORKSPACE;
	make_home(i);
	r = prepare_kernel(i);
	if (r == 0)
		r = start_terminal(i);
	if (r < 0)
		dprintf(STDERR_FILENO, "husk-client: cannot make pipes: %s\n", strerror(-r));
	return r;
}

static uint64_t wait_ms(struct init *i)
{
	if (controller_flush(&i->controller) || i->reap_again)
		return 0;
	if (i->ending)
		return FAREWELL_MS / 10;
	if (i->rest.state == REST_RESTING)
		return lease_sleep(&i->lease, REST_WAKE_MS, clock_now_ms(), clock_boot_ms());
	return TICK_MS;
}

static bool said_farewell(struct init *i)
{
	return !controller_present(&i->controller) || clock_now_ms() >= i->farewell_until_ms;
}

int init_run(const struct init_options *options)
{
	static struct init i;
	i.options = options;
	/* Sandbox code is the same user: no ptrace, no /proc/1/mem, no /proc/1/fd. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	setsid();
	int diag = sockets_open_diag(), r = spawn_prepare();
	if (r < 0)
		return dprintf(STDERR_FILENO, "husk-client: cannot install the system call guard: %s\n", strerror(-r)),
		       INIT_EXIT_SYSTEM;
	/* Large buffers go back to the system when they are freed: this memory is the sandbox's. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_TRIM_THRESHOLD, 256 * 1024);
	json_object_seed(0);
	if (set_up(&i) < 0)
		return INIT_EXIT_SYSTEM;

	/* First of all: whoever else could dial does not exist yet. */
	dial_turn(&i.dial, clock_now_ms());
	watch_home(&i);
	watch_sockets(&i, diag);
	let_rest(&i);
	if (!options->install)
		kernel_start(&i.kernel);
	while (!i.ending || !said_farewell(&i)) {
		poller_turn(&i.poller, wait_ms(&i));
		if (i.reap_again)
			reap(&i);
		dial_turn(&i.dial, clock_now_ms());
		check_lease(&i);
		rest_turn(&i.rest, clock_now_ms());
	}
	procs_kill_all();
	return i.exit_status;
}
