/* How a kernel is started, and what happens if it cannot be. */
#include "kernels/cells/kernel-private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "kernels/guard/spawn.h"
#include "kernels/system/clock.h"
#include "kernels/system/procs.h"

#define STARTS_MAX 2
#define FORK_PATIENCE_MS 2000
#define FORK_RETRY_MS 100
#define STDERR_SHOWN 1500

#define LATE_PREFIX "HUSK_LATE_"

#define AFTER_KILL_ALL                                                                                                 \
	"Every process in the container was ended and a new kernel started: variables and background processes are "   \
	"gone, files are kept."

static void try_start(struct kernel *k);

void kernel_fail(struct kernel *k, const char *cause)
{
	k->state = KERNEL_FAILED;
	timeout_stop(&k->timer);
	handshake_stop(&k->handshake);
	link_close(&k->link);
	k->setup->on_failed(k, cause);
}

static void on_retry(struct timeout *t)
{
	try_start(container_of(t, struct kernel, timer));
}

static void retry_later(struct kernel *k)
{
	k->state = KERNEL_DOWN;
	timeout_start(k->setup->poller, &k->timer, FORK_RETRY_MS, on_retry);
}

/* Only processes of the session can keep a kernel from starting: kill them all, once. */
void kernel_recover(struct kernel *k, const char *cause)
{
	handshake_stop(&k->handshake);
	k->pid = 0;
	if (k->killed_all) {
		kernel_fail(k, cause);
		return;
	}
	procs_kill_all();
	k->killed_all = true;
	k->deaths = STARTS_MAX - 1;
	k->fork_until_ms = clock_now_ms() + FORK_PATIENCE_MS;
	kernel_set_note(k, xasprintf("Before this run the kernel %s. " AFTER_KILL_ALL, cause));
	k->setup->on_killed_all(k);
	retry_later(k);
}

static char *last_words(struct kernel *k, const char *cause)
{
	AUTO(buf_release) struct buf raw = { 0 };
	AUTO(buf_release) struct buf clean = { 0 };
	pipes_drain(k->pipes);
	ring_copy(&k->pipes->ends[RUN_STDERR].late, STDERR_SHOWN, &raw);
	if (raw.len)
		utf8_clean(&clean, raw.data, raw.len);
	while (clean.len && (clean.data[clean.len - 1] == '\n' || clean.data[clean.len - 1] == ' '))
		clean.len--;
	return clean.len ? xasprintf("%s; last output: %s", cause, buf_str(&clean)) : xstrdup(cause);
}

void kernel_start_failed(struct kernel *k, const char *cause)
{
	AUTO(freep) char *story = last_words(k, cause);
	if (++k->deaths < STARTS_MAX && !limits_pids_full(k->setup->limits)) {
		try_start(k);
		return;
	}
	kernel_recover(k, story);
}

static void on_start_deadline(struct timeout *t)
{
	struct kernel *k = container_of(t, struct kernel, timer);
	AUTO(freep) char *cause =
		xasprintf("did not answer within %g s of its start", (double)k->setup->start_ms / 1000);
	procs_kill_session(k->pid);
	AUTO(freep) char *story = last_words(k, cause);
	kernel_recover(k, story);
}

static void on_refused(struct handshake *h, const char *why)
{
	struct kernel *k = container_of(h, struct kernel, handshake);
	k->kill_reason = why;
	k->killed = true;
	procs_kill_session(k->pid);
}

static void on_open(struct handshake *h, int fd, const char *language_version)
{
	struct kernel *k = container_of(h, struct kernel, handshake);
	size_t n = 0;
	for (const char *at = language_version; *at && n < sizeof(k->language_version) - 1; at++)
		if (*at >= ' ' && *at < 0x7f)
			k->language_version[n++] = *at;
	k->language_version[n] = '\0';
	timeout_stop(&k->timer);
	link_open(&k->link, k->setup->poller, fd);
	k->state = KERNEL_IDLE;
	k->deaths = 0;
	k->lists_variables = h->lists_variables;
	k->takes_queries = h->queries;
	k->forks = h->forks;
	k->fork_id = 0;
	k->variables_id = 0;
	k->variables_fresh = k->restart_waits = false;
	k->ready_ms = clock_now_ms();
	k->setup->on_started(k);
	kernel_send_event(k, "kernel_ready", "language_version", k->language_version);
	kernel_tell_idle(k);
}

static bool is_of_the_link(const char *variable)
{
	return strncmp(variable, "HUSK_LINK=", strlen("HUSK_LINK=")) == 0 ||
	       strncmp(variable, "HUSK_TAKEN_FD=", strlen("HUSK_TAKEN_FD=")) == 0 ||
	       strncmp(variable, "HUSK_TOKEN_FD=", strlen("HUSK_TOKEN_FD=")) == 0 ||
	       strncmp(variable, LATE_PREFIX, strlen(LATE_PREFIX)) == 0;
}

/* True if the variable would run the session's code in the interpreter before the kernel is loaded (PYTHONPATH,
 * NODE_OPTIONS). */
static bool is_late(const struct manifest *m, const char *variable)
{
	size_t n = strcspn(variable, "=");
	for (size_t i = 0; i < m->late.n; i++)
		if (strlen(m->late.v[i]) == n && strncmp(variable, m->late.v[i], n) == 0)
			return true;
	return false;
}

/* A late variable has another name until the kernel is loaded. */
static void add_env(struct strv *env, const struct manifest *m, const char *variable)
{
	if (is_of_the_link(variable)) /* sessions cannot replace these */
		return;
	if (is_late(m, variable))
		strv_addf(env, LATE_PREFIX "%s", variable);
	else
		strv_add(env, variable);
}

/* A socket and not a pipe, since descriptors for a copy of the kernel come through it. Returns the kernel's end, or
 * -errno. */
static int open_taken(struct kernel *k)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	closep(&k->taken_fd);
	k->taken_fd = ends[1];
	/* A kernel that does not wait never reads from it, and must not block PID 1. */
	(void)fcntl(k->taken_fd, F_SETFL, O_NONBLOCK);
	return ends[0];
}

static pid_t spawn_kernel(struct kernel *k)
{
	struct strv env AUTO(strv_release) = { 0 };
	for (size_t i = 0; i < k->setup->env->n; i++)
		add_env(&env, k->setup->manifest, k->setup->env->v[i]);
	strv_addf(&env, "HUSK_LINK=%s", k->handshake.address);
	if (k->setup->manifest->tcp_port)
		strv_addf(&env, "HUSK_TOKEN_FD=%d", LINK_FD);
	strv_addf(&env, "HUSK_TAKEN_FD=%d", LINK_TAKEN_FD);
	AUTO(closep) int taken = open_taken(k);
	if (taken < 0)
		return taken;
	AUTO(closep) int out = pipes_writer(k->pipes, RUN_STDOUT);
	AUTO(closep) int err = pipes_writer(k->pipes, RUN_STDERR);
	if (out < 0 || err < 0)
		return out < 0 ? out : err;
	return spawn_process(&(struct spawn_spec){
		.argv = k->setup->manifest->kernel.v,
		.env = strv_argv(&env),
		.cwd = *k->setup->cwd,
		.out_fd = out,
		.err_fd = err,
		.fds = { { k->handshake.inherited_fd, LINK_FD }, { taken, LINK_TAKEN_FD } },
	});
}

/* The handshake could not be opened or the process could not be started. A full process table may be temporary. */
static void start_impossible(struct kernel *k, int error)
{
	handshake_stop(&k->handshake);
	if (clock_now_ms() < k->fork_until_ms) {
		retry_later(k);
		return;
	}
	AUTO(freep) char *cause = NULL;
	if (error == -EAGAIN && k->setup->limits->pids_limit != LIMIT_UNKNOWN)
		cause = xasprintf("could not be started, since the process limit (%llu) is reached",
				  (unsigned long long)k->setup->limits->pids_limit);
	else
		cause = xasprintf("could not be started: %s", strerror(-error));
	kernel_recover(k, cause);
}

static void try_start(struct kernel *k)
{
	k->kill_reason = NULL;
	k->killed = false;
	k->oom_kills = limits_oom_kills(k->setup->limits);
	int r = limits_pids_full(k->setup->limits) ?
			-EAGAIN :
			handshake_start(&k->handshake, k->setup->poller, k->setup->manifest->tcp_port);
	pid_t pid = r < 0 ? r : spawn_kernel(k);
	if (pid < 0) {
		start_impossible(k, pid);
		return;
	}
	k->pid = pid;
	handshake_watch(&k->handshake, pid);
	k->state = KERNEL_STARTING;
	timeout_start(k->setup->poller, &k->timer, k->setup->start_ms, on_start_deadline);
}

void kernel_start(struct kernel *k)
{
	k->fork_until_ms = clock_now_ms() + FORK_PATIENCE_MS;
	try_start(k);
}

void kernel_init_start(struct kernel *k)
{
	k->handshake.on_open = on_open;
	k->handshake.on_refused = on_refused;
}
