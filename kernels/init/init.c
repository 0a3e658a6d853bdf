#include "kernels/init/init.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/slice.h"
#include "kernels/guard/spawn.h"
#include "kernels/init/init-private.h"
#include "kernels/system/clock.h"
#include "kernels/system/procs.h"
#include "kernels/system/rlimits.h"

#define TICK_MS 1000
/* A fork bomb leaves orphans by the thousand; other work gets its turn in between. */
#define REAPS_A_TURN 2000

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
		kernels_reaped(&i->kernels, pid, status);
		terminals_reaped(&i->terminals, pid, status);
		consoles_reaped(&i->consoles, pid, status);
	}
	i->reap_again = true;
}

/* A plain kill() from outside our pid namespace shows pid 0. One from inside shows its sender. Sandbox
 * code can also make a descriptor send a signal (F_SETOWN, F_SETSIG). That signal shows pid 0 too, but another code. */
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
			init_end(i, 128 + (int)info[k].ssi_signo);
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

static bool is_for_children(const char *variable)
{
	return strncmp(variable, "HUSK_", 5) != 0 && strncmp(variable, "KUBERNETES_", 11) != 0;
}

/* Children get PID 1's environment without Husk's own variables and the address of a cluster, plus those of the
 * runtime. */
static void make_env(struct init *i)
{
	for (char **v = environ; *v; v++)
		if (is_for_children(*v))
			strv_set_env(&i->env, *v);
	for (size_t k = 0; k < i->manifest.env.n; k++)
		strv_set_env(&i->env, i->manifest.env.v[k]);
	/* pip, npm and R may unpack files that do not fit into memory. */
	if (i->options->home_size)
		strv_set_env(&i->env, "TMPDIR=" HOME_TMP);
}

/* Every user may write to the volume, like /tmp, because its user is not known yet when the volume is created. */
static void make_home(const struct init *i)
{
	if (!i->options->home_size)
		return;
	if ((mkdir(HOME_PATH, 0755) < 0 || mkdir(HOME_TMP, 0700) < 0) && errno != EEXIST)
		dprintf(STDERR_FILENO, "husk-client: cannot make the home directory: %s\n", strerror(errno));
}

/* The control socket comes first, so that no other process can take its name. Signals are set up before any process is
 * started. */
static int set_up(struct init *i)
{
	struct fail f AUTO(fail_release) = { 0 };
	poller_init(&i->poller);
	limits_open(&i->limits, i->options->cgroup);
	if (i->options->pids)
		i->limits.pids_limit = MIN(i->limits.pids_limit, i->options->pids);
	lease_init(&i->lease, i->options->lease_ms, i->options->lifetime_ms, clock_now_ms(), clock_boot_ms());
	lease_start_with(&i->lease, i->options->first_lease_ms);
	int r = init_start_controller(i);
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
	r = init_prepare_kernels(i);
	if (r == 0)
		r = init_prepare_commands(i);
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
	/* Sandbox code runs as the same user, but must not ptrace PID 1 or open /proc/1/mem or /proc/1/fd. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	slice_shorten();
	setsid();
	int diag = sockets_open_diag(), r = rlimits_set(options->pids, options->file_size);
	if (r < 0)
		return dprintf(STDERR_FILENO, "husk-client: cannot set the limits of processes: %s\n", strerror(-r)),
		       INIT_EXIT_SYSTEM;
	r = spawn_prepare();
	if (r < 0)
		return dprintf(STDERR_FILENO, "husk-client: cannot install the system call guard: %s\n", strerror(-r)),
		       INIT_EXIT_SYSTEM;
	/* Large buffers are returned to the system when they are freed, since user code needs this memory. */
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_TRIM_THRESHOLD, 256 * 1024);
	json_object_seed(0);
	if (set_up(&i) < 0)
		return INIT_EXIT_SYSTEM;

	/* Dials before anything else: no other process that could do so exists yet. */
	dial_turn(&i.dial, clock_now_ms());
	init_watch_home(&i);
	init_watch_sockets(&i, diag);
	init_let_rest(&i);
	if (!options->install)
		kernel_start(i.kernels.main);
	while (!i.ending || !said_farewell(&i)) {
		poller_turn(&i.poller, wait_ms(&i));
		if (i.reap_again)
			reap(&i);
		dial_turn(&i.dial, clock_now_ms());
		init_check_lease(&i);
		rest_turn(&i.rest, clock_now_ms());
	}
	procs_kill_all();
	return i.exit_status;
}
