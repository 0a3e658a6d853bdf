#include "kernels/cells/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "kernels/guard/spawn.h"
#include "kernels/system/clock.h"
#include "kernels/system/procs.h"

#define STARTS_MAX 2
#define FORK_PATIENCE_MS 2000
#define FORK_RETRY_MS 100
/* A kernel that exits closes its link a moment before it can be reaped. Its exit status says more than the closed
 * link. */
#define EXIT_PATIENCE_MS 300
#define KILL_PATIENCE_MS 5000
/* At most this many kernels in a row may die idle within FLAP_MS of their hello. */
#define FLAPS_MAX 4
#define FLAP_MS 2000
#define STDERR_SHOWN 1500
/* The variables are listed this long after a cell. An idle session can afford that; one that runs cell after cell
 * cannot. */
#define LIST_AFTER_MS 200
/* In a busy session the variables are listed this often: as soon as the list is this old, if no cell runs then, or in
 * the first pause of LIST_SOON_MS, or else before a cell, which takes longer then. */
#define LIST_GAP_MS 500
#define LIST_SOON_MS 5
/* How long a restart waits for the old kernel to list its variables. */
#define RESTART_WAIT_MS 3000

#define LATE_PREFIX "HUSK_LATE_"

#define AFTER_RESTART "A new kernel was started: variables are gone, files are kept."
#define AFTER_KILL_ALL                                                                                                 \
	"Every process in the container was ended and a new kernel started: variables and background processes are "   \
	"gone, files are kept."

static void try_start(struct kernel *k);

/* A queued run comes before a query that waits. */
static void tell_idle(struct kernel *k)
{
	k->on_idle(k);
	if (k->state == KERNEL_IDLE)
		query_release(&k->query, &k->link, k->pid, k->takes_queries);
}

const char *kernel_state_name(const struct kernel *k)
{
	switch (k->state) {
	case KERNEL_IDLE:
		return "ready";
	case KERNEL_BUSY:
		return "busy";
	case KERNEL_FAILED:
		return "failed";
	default:
		return "starting";
	}
}

static void send_event(struct kernel *k, const char *event, const char *name, const char *value)
{
	json_auto_t *payload = json_pack("{s:s, s:s*}", "event", event, name, value);
	k->on_event(k, payload);
}

/* The known variables are lost. The END of this run or the next lists them. */
static void lose_variables(struct kernel *k)
{
	json_t *lost = variables_lose(&k->variables);
	k->variables_id = 0;
	k->variables_fresh = k->restart_waits = k->unseen = false;
	k->listed_ms = 0;
	timeout_stop(&k->list_timer);
	if (!lost)
		return;
	json_decref(k->lost);
	k->lost = lost;
}

static void set_note(struct kernel *k, char *note)
{
	free(k->note);
	k->note = note;
}

/* ---- starting */

static void fail(struct kernel *k, const char *cause)
{
	k->state = KERNEL_FAILED;
	timeout_stop(&k->timer);
	handshake_stop(&k->handshake);
	link_close(&k->link);
	k->on_failed(k, cause);
}

static void on_retry(struct timeout *t)
{
	try_start(container_of(t, struct kernel, timer));
}

static void retry_later(struct kernel *k)
{
	k->state = KERNEL_DOWN;
	timeout_start(k->poller, &k->timer, FORK_RETRY_MS, on_retry);
}

/* Only processes of the session can keep a kernel from starting: kill them all, once. */
static void recover(struct kernel *k, const char *cause)
{
	handshake_stop(&k->handshake);
	k->pid = 0;
	if (k->killed_all) {
		fail(k, cause);
		return;
	}
	procs_kill_all();
	k->killed_all = true;
	k->deaths = STARTS_MAX - 1;
	k->fork_until_ms = clock_now_ms() + FORK_PATIENCE_MS;
	set_note(k, xasprintf("Before this run the kernel %s. " AFTER_KILL_ALL, cause));
	k->on_killed_all(k);
	retry_later(k);
}

static char *last_words(struct kernel *k, const char *cause)
{
	AUTO(buf_release) struct buf raw = { 0 };
	AUTO(buf_release) struct buf clean = { 0 };
	pipes_drain(&k->pipes);
	ring_copy(&k->pipes.ends[RUN_STDERR].late, STDERR_SHOWN, &raw);
	if (raw.len)
		utf8_clean(&clean, raw.data, raw.len);
	while (clean.len && (clean.data[clean.len - 1] == '\n' || clean.data[clean.len - 1] == ' '))
		clean.len--;
	return clean.len ? xasprintf("%s; last output: %s", cause, buf_str(&clean)) : xstrdup(cause);
}

static void start_failed(struct kernel *k, const char *cause)
{
	AUTO(freep) char *story = last_words(k, cause);
	if (++k->deaths < STARTS_MAX && !limits_pids_full(k->limits)) {
		try_start(k);
		return;
	}
	recover(k, story);
}

static void on_start_deadline(struct timeout *t)
{
	struct kernel *k = container_of(t, struct kernel, timer);
	AUTO(freep) char *cause = xasprintf("did not answer within %g s of its start", (double)k->start_ms / 1000);
	procs_kill_session(k->pid);
	AUTO(freep) char *story = last_words(k, cause);
	recover(k, story);
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
	link_open(&k->link, k->poller, fd);
	k->state = KERNEL_IDLE;
	k->deaths = 0;
	k->lists_variables = h->lists_variables;
	k->takes_queries = h->queries;
	k->variables_id = 0;
	k->variables_fresh = k->restart_waits = false;
	k->ready_ms = clock_now_ms();
	send_event(k, "kernel_ready", "language_version", k->language_version);
	tell_idle(k);
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

/* Returns the kernel's end of the pipe, or -errno. */
static int open_taken(struct kernel *k)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	closep(&k->taken_fd);
	k->taken_fd = ends[1];
	/* A kernel that does not wait never reads from the pipe, and must not block PID 1. */
	(void)fcntl(k->taken_fd, F_SETFL, O_NONBLOCK);
	return ends[0];
}

static void tell_taken(const struct kernel *k)
{
	if (write(k->taken_fd, "", 1) < 0)
		return; /* the pipe is full or the kernel is dead: nothing waits */
}

static pid_t spawn_kernel(struct kernel *k)
{
	struct strv env AUTO(strv_release) = { 0 };
	for (size_t i = 0; i < k->env->n; i++)
		add_env(&env, k->manifest, k->env->v[i]);
	strv_addf(&env, "HUSK_LINK=%s", k->handshake.address);
	if (k->manifest->tcp_port)
		strv_addf(&env, "HUSK_TOKEN_FD=%d", LINK_FD);
	strv_addf(&env, "HUSK_TAKEN_FD=%d", LINK_TAKEN_FD);
	AUTO(closep) int taken = open_taken(k);
	if (taken < 0)
		return taken;
	AUTO(closep) int out = pipes_writer(&k->pipes, RUN_STDOUT);
	AUTO(closep) int err = pipes_writer(&k->pipes, RUN_STDERR);
	if (out < 0 || err < 0)
		return out < 0 ? out : err;
	return spawn_process(&(struct spawn_spec){
		.argv = k->manifest->kernel.v,
		.env = strv_argv(&env),
		.cwd = *k->cwd,
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
	if (error == -EAGAIN && k->limits->pids_limit != LIMIT_UNKNOWN)
		cause = xasprintf("could not be started, since the process limit (%llu) is reached",
				  (unsigned long long)k->limits->pids_limit);
	else
		cause = xasprintf("could not be started: %s", strerror(-error));
	recover(k, cause);
}

static void try_start(struct kernel *k)
{
	k->kill_reason = NULL;
	k->killed = false;
	k->oom_kills = limits_oom_kills(k->limits);
	int r = limits_pids_full(k->limits) ? -EAGAIN :
					      handshake_start(&k->handshake, k->poller, k->manifest->tcp_port);
	pid_t pid = r < 0 ? r : spawn_kernel(k);
	if (pid < 0) {
		start_impossible(k, pid);
		return;
	}
	k->pid = pid;
	handshake_watch(&k->handshake, pid);
	k->state = KERNEL_STARTING;
	timeout_start(k->poller, &k->timer, k->start_ms, on_start_deadline);
}

void kernel_start(struct kernel *k)
{
	k->fork_until_ms = clock_now_ms() + FORK_PATIENCE_MS;
	try_start(k);
}

/* ---- running */

static bool is_known(pid_t session, const void *ctx)
{
	const struct kernel *k = ctx;
	return session == k->pid || k->is_known(k, session);
}

/* Also names processes that keep running: a daemon that a cell has started is in another process session. */
static char *describe_restart(const struct kernel *k)
{
	AUTO(freep) char *others = procs_name_others(is_known, k);
	return xasprintf("A new interpreter was started, as requested: variables are gone, files are kept.%s%s%s",
			 others ? " Older processes still run: " : "", others ? others : "", others ? "." : "");
}

/* The run stays queued for the new kernel. A run without code only requests the restart and ends here. */
static void renew(struct kernel *k, struct run *run)
{
	run->restart = false;
	set_note(k, describe_restart(k));
	lose_variables(k);
	if (!run->text_len) {
		run_start(run);
		run_end(run, &(struct run_ending){
				     .ending = "ok", .kernel = "restarted", .detail = k->note, .lost = k->lost });
		set_note(k, NULL);
		json_decref(take_ptr(k->lost));
	}
	kernel_restart(k);
}

bool kernel_list_variables(struct kernel *k)
{
	if (k->state != KERNEL_IDLE || k->variables_id || !k->lists_variables)
		return k->variables_id != 0;
	const json_int_t id = link_make_id();
	json_auto_t *message = json_pack("{s:s, s:I}", "op", "look", "id", id);
	k->variables_id = link_send(&k->link, message) == 0 ? id : 0;
	k->listed_ms = clock_now_ms();
	k->unseen = false;
	return k->variables_id != 0;
}

static bool list_is_old(const struct kernel *k)
{
	return !k->listed_ms || clock_now_ms() - k->listed_ms >= LIST_GAP_MS;
}

/* A cell that kills the kernel also destroys the variables of the cells just before it, so they are listed first. */
static void list_before_cell(struct kernel *k)
{
	if (k->unseen && list_is_old(k))
		(void)kernel_list_variables(k);
}

void kernel_query(struct kernel *k, uint32_t number, const json_t *request)
{
	bool up = k->state == KERNEL_IDLE || k->state == KERNEL_BUSY;
	if (up && !k->takes_queries)
		query_decline(&k->query, number, "cannot");
	else if (k->state == KERNEL_IDLE)
		query_send(&k->query, &k->link, k->pid, number, request);
	else if (k->state == KERNEL_FAILED || (k->state == KERNEL_BUSY && k->cell.stop == CELL_RUNS))
		query_decline(&k->query, number, "busy");
	else
		query_hold(&k->query, number, request);
}

static void on_query_answer(struct query *q, uint32_t number, const void *json, size_t n)
{
	struct kernel *k = container_of(q, struct kernel, query);
	k->on_answer(k, number, json, n);
}

static void on_list_due(struct timeout *t)
{
	(void)kernel_list_variables(container_of(t, struct kernel, list_timer));
}

static void on_restart_limit(struct timeout *t)
{
	struct kernel *k = container_of(t, struct kernel, list_timer);
	k->variables_fresh = true; /* use the last known list */
	tell_idle(k);
}

/* True if the kernel lists its variables before it ends: on_idle follows. */
static bool list_before_restart(struct kernel *k)
{
	if (k->variables_fresh || !kernel_list_variables(k))
		return false;
	if (!k->restart_waits)
		timeout_start(k->poller, &k->list_timer, RESTART_WAIT_MS, on_restart_limit);
	k->restart_waits = true;
	return true;
}

void kernel_run(struct kernel *k, struct run *run)
{
	query_make_way(&k->query);
	if (run->restart) {
		if (!list_before_restart(k))
			renew(k, run);
		return;
	}
	list_before_cell(k);
	int r = cell_start(&k->cell, run, &k->link, k->pid, k->note, k->lost);
	if (r < 0) {
		run_end(run, &(struct run_ending){ .ending = "refused",
						   .detail = "The code could not be sent to the kernel." });
		return;
	}
	k->oom_kills = run->oom_kills_before;
	k->note = NULL;
	k->lost = NULL;
	k->variables_fresh = false;
	timeout_stop(&k->list_timer);
	k->state = KERNEL_BUSY;
}

/* A working kernel clears the record of failed starts. */
static void note_well(struct kernel *k)
{
	k->flaps = 0;
	k->killed_all = false;
}

static void on_done(struct cell *c)
{
	struct kernel *k = container_of(c, struct kernel, cell);
	note_well(k);
	if (k->state != KERNEL_BUSY)
		return; /* the kernel is already dead, and these were its last messages */
	k->state = KERNEL_IDLE;
	k->unseen = true;
	uint64_t age = k->listed_ms ? clock_now_ms() - k->listed_ms : LIST_GAP_MS;
	uint64_t left = age < LIST_GAP_MS ? LIST_GAP_MS - age : 0;
	timeout_start(k->poller, &k->list_timer, MAX(MIN(left, LIST_AFTER_MS), LIST_SOON_MS), on_list_due);
	tell_idle(k);
}

void kernel_interrupt(struct kernel *k)
{
	cell_interrupt(&k->cell, CELL_INTERRUPTED);
}

void kernel_input(struct kernel *k, const char *text, size_t n)
{
	cell_input(&k->cell, &k->link, text, n);
}

void kernel_disk_full(struct kernel *k)
{
	cell_interrupt(&k->cell, CELL_DISK_FULL);
}

/* ---- dying */

static void on_unkillable(struct timeout *t)
{
	struct kernel *k = container_of(t, struct kernel, timer);
	fail(k, "could not be killed");
}

static void kill_now(struct kernel *k)
{
	k->state = KERNEL_DYING;
	k->killed = true;
	timeout_start(k->poller, &k->timer, KILL_PATIENCE_MS, on_unkillable);
	procs_kill_session(k->pid);
}

void kernel_kill(struct kernel *k, const char *why)
{
	if (k->pid <= 0)
		return;
	link_close(&k->link);
	k->kill_reason = why;
	kill_now(k);
}

static void on_exit_patience(struct timeout *t)
{
	kill_now(container_of(t, struct kernel, timer));
}

static void on_hopeless(struct cell *c, const char *why)
{
	struct kernel *k = container_of(c, struct kernel, cell);
	link_close(&k->link);
	k->kill_reason = why;
	kill_now(k);
}

static void on_gone(struct link *l, bool broken, const char *why)
{
	struct kernel *k = container_of(l, struct kernel, link);
	k->kill_reason = why;
	if (broken) {
		kill_now(k);
		return;
	}
	k->state = KERNEL_DYING;
	timeout_start(k->poller, &k->timer, EXIT_PATIENCE_MS, on_exit_patience);
}

/* The same as tell_taken(), for a kernel whose language cannot read from a descriptor. */
static void answer_sync(struct link *l)
{
	json_auto_t *synced = json_pack("{s:s}", "op", "synced");
	(void)link_send(l, synced);
}

static void take_variables(struct kernel *k, const struct link_message *m)
{
	k->variables_id = 0;
	k->variables_fresh = k->state == KERNEL_IDLE; /* otherwise the list predates the cell that has begun since */
	variables_take(&k->variables, m);
	k->on_variables(k);
	if (k->restart_waits) {
		k->restart_waits = false;
		timeout_stop(&k->list_timer);
		if (k->state == KERNEL_IDLE)
			tell_idle(k);
	}
}

static void on_message(struct link *l, const struct link_message *m)
{
	struct kernel *k = container_of(l, struct kernel, link);
	const char *why;
	/* Output printed before a message must precede it. All messages of one read were sent before that read. */
	if (l->fresh)
		pipes_drain(&k->pipes);
	l->fresh = false;
	bool asked = k->variables_id && m->id == k->variables_id;
	if (m->op == LINK_VARIABLES && asked) {
		take_variables(k, m);
		return;
	}
	if (m->op == LINK_ANSWER && query_answered(&k->query, m) == 0)
		return;
	if (m->op == LINK_VARIABLES || m->op == LINK_ANSWER) {
		why = m->op == LINK_ANSWER ? "sent an answer without a query" : "sent variables without a request";
	} else if (cell_message(&k->cell, m, &why) == 0) {
		if (m->op == LINK_DISPLAY || m->op == LINK_SYNC)
			tell_taken(k);
		if (m->sync)
			answer_sync(l);
		return;
	}
	link_close(l);
	k->kill_reason = why;
	kill_now(k);
}

static void on_dropped(struct link *l)
{
	struct kernel *k = container_of(l, struct kernel, link);
	cell_dropped(&k->cell);
	tell_taken(k);
}

void kernel_restart(struct kernel *k)
{
	query_lost(&k->query);
	switch (k->state) {
	case KERNEL_STARTING:
	case KERNEL_IDLE:
		procs_kill_session(k->pid);
		k->pid = 0;
		handshake_stop(&k->handshake);
		link_close(&k->link);
		kernel_start(k);
		break;
	case KERNEL_BUSY:
		link_close(&k->link);
		k->kill_reason = "was ended because its environment changed";
		kill_now(k);
		break;
	case KERNEL_DOWN:
	case KERNEL_DYING: /* a start is already due */
	case KERNEL_FAILED:
		break;
	}
}

static bool oom_took(const struct kernel *k, int status)
{
	uint64_t now = limits_oom_kills(k->limits);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && now != LIMIT_UNKNOWN && now > k->oom_kills &&
	       k->oom_kills != LIMIT_UNKNOWN;
}

static void died_idle(struct kernel *k, const struct death *d)
{
	AUTO(freep) char *how = death_describe(d);
	send_event(k, "kernel_died", "cause", how);
	set_note(k, xasprintf("Before this run the kernel %s. " AFTER_RESTART, how));
	if (clock_now_ms() - k->ready_ms >= FLAP_MS)
		note_well(k);
	/* Something in the container keeps killing the kernel. */
	if (++k->flaps > FLAPS_MAX)
		recover(k, how);
	else
		kernel_start(k);
}

void kernel_reaped(struct kernel *k, pid_t pid, int status)
{
	if (pid != k->pid || k->state == KERNEL_FAILED)
		return;
	bool starting = k->state == KERNEL_STARTING;
	k->state = KERNEL_DYING;
	bool killed = k->killed;
	procs_kill_session(pid);
	link_drain(&k->link);
	query_lost(&k->query);
	k->pid = 0;
	timeout_stop(&k->timer);
	handshake_stop(&k->handshake);
	link_close(&k->link);

	/* PID 1 knows why it sent a SIGKILL; otherwise the status says why. */
	bool ours = killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	struct death d = { .status = status,
			   .oom = !ours && oom_took(k, status),
			   .reason = ours ? k->kill_reason : NULL };
	if (starting) {
		AUTO(freep) char *how = death_describe(&d);
		start_failed(k, how);
		return;
	}
	lose_variables(k);
	if (k->cell.run && k->cell.stop == CELL_RUNS && !k->cell.has_spoken && k->link.unread) {
		json_auto_t *lost = take_ptr(k->lost);
		k->lost = cell_withdraw(&k->cell, lost);
	}
	if (k->cell.run) {
		json_auto_t *lost = take_ptr(k->lost);
		note_well(k);
		cell_end_dead(&k->cell, &d, "restarted", AFTER_RESTART, lost);
		kernel_start(k);
	} else {
		died_idle(k, &d);
	}
}

int kernel_init(struct kernel *k, uint64_t grace_ms, int interrupt_signal)
{
	k->state = KERNEL_DOWN;
	k->taken_fd = -1;
	k->handshake.on_open = on_open;
	k->handshake.on_refused = on_refused;
	k->link = (struct link){ .fd = -1, .on_message = on_message, .on_dropped = on_dropped, .on_gone = on_gone };
	k->cell = (struct cell){
		.poller = k->poller,
		.pipes = &k->pipes,
		.grace_ms = grace_ms,
		.interrupt_signal = interrupt_signal,
		.limits = k->limits,
		.on_done = on_done,
		.on_hopeless = on_hopeless,
	};
	k->query = (struct query){ .poller = k->poller, .signal = interrupt_signal, .on_answer = on_query_answer };
	return pipes_open(&k->pipes, k->poller);
}
