#include "kernels/cells/kernel-private.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "kernels/system/clock.h"
#include "kernels/system/procs.h"

/* A kernel that exits closes its link a moment before it can be reaped. Its exit status says more than the closed
 * link. */
#define EXIT_PATIENCE_MS 300
#define KILL_PATIENCE_MS 5000
/* At most this many kernels in a row may die idle within FLAP_MS of their hello. */
#define FLAPS_MAX 4
#define FLAP_MS 2000
/* The variables are listed this long after a cell. An idle session can afford that; one that runs cell after cell
 * cannot. */
#define LIST_AFTER_MS 200
/* In a busy session the variables are listed this often: as soon as the list is this old, if no cell runs then, or in
 * the first pause of LIST_SOON_MS, or else before a cell, which takes longer then. */
#define LIST_GAP_MS 500
#define LIST_SOON_MS 5
/* How long a restart waits for the old kernel to list its variables. */
#define RESTART_WAIT_MS 3000

#define AFTER_RESTART "A new kernel was started: variables are gone, files are kept."

/* A queued run comes before a query that waits. */
void kernel_tell_idle(struct kernel *k)
{
	k->setup->on_idle(k);
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

void kernel_send_event(struct kernel *k, const char *event, const char *name, const char *value)
{
	if (k->branch) /* the manager knows one kernel */
		return;
	json_auto_t *payload = json_pack("{s:s, s:s*}", "event", event, name, value);
	k->setup->on_event(k, payload);
}

void kernel_lose_variables(struct kernel *k)
{
	json_t *lost = variables_lose(&k->variables);
	k->variables_id = 0;
	k->variables_fresh = k->restart_waits = k->unseen = false;
	k->listed_ms = 0;
	timeout_stop(&k->list_timer);
	if (!lost)
		return;
	json_decref(k->past.lost);
	k->past.lost = lost;
}

void kernel_set_note(struct kernel *k, char *note)
{
	free(k->past.note);
	k->past.note = note;
}

/* ---- running */

static bool is_known(pid_t session, const void *ctx)
{
	const struct kernel *k = ctx;
	return k->setup->is_known(k, session);
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
	kernel_set_note(k, describe_restart(k));
	kernel_lose_variables(k);
	if (!run->text_len) {
		run_start(run);
		run_end(run,
			&(struct run_ending){
				.ending = "ok", .kernel = "restarted", .detail = k->past.note, .lost = k->past.lost });
		past_release(&k->past);
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
	k->setup->on_answer(k, number, json, n);
}

static void on_list_due(struct timeout *t)
{
	(void)kernel_list_variables(container_of(t, struct kernel, list_timer));
}

static void on_restart_limit(struct timeout *t)
{
	struct kernel *k = container_of(t, struct kernel, list_timer);
	k->variables_fresh = true; /* use the last known list */
	kernel_tell_idle(k);
}

/* True if the kernel lists its variables before it ends: on_idle follows. */
static bool list_before_restart(struct kernel *k)
{
	if (k->variables_fresh || !kernel_list_variables(k))
		return false;
	if (!k->restart_waits)
		timeout_start(k->setup->poller, &k->list_timer, RESTART_WAIT_MS, on_restart_limit);
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
	int r = cell_start(&k->cell, run, &k->link, k->pid, &k->past);
	if (r < 0) {
		run_end(run, &(struct run_ending){ .ending = "refused",
						   .detail = "The code could not be sent to the kernel." });
		return;
	}
	k->oom_kills = run->oom_kills_before;
	k->began_us = clock_now_us();
	k->variables_fresh = false;
	timeout_stop(&k->list_timer);
	k->state = KERNEL_BUSY;
}

void kernel_note_well(struct kernel *k)
{
	k->flaps = 0;
	k->killed_all = false;
}

static void on_done(struct cell *c)
{
	struct kernel *k = container_of(c, struct kernel, cell);
	kernel_note_well(k);
	if (k->state != KERNEL_BUSY)
		return; /* the kernel is already dead, and these were its last messages */
	k->state = KERNEL_IDLE;
	k->worked_us += clock_now_us() - k->began_us;
	k->unseen = true;
	uint64_t age = k->listed_ms ? clock_now_ms() - k->listed_ms : LIST_GAP_MS;
	uint64_t left = age < LIST_GAP_MS ? LIST_GAP_MS - age : 0;
	timeout_start(k->setup->poller, &k->list_timer, MAX(MIN(left, LIST_AFTER_MS), LIST_SOON_MS), on_list_due);
	kernel_tell_idle(k);
}

void kernel_interrupt(struct kernel *k)
{
	if (k->state != KERNEL_WAKING)
		cell_interrupt(&k->cell, CELL_INTERRUPTED);
}

void kernel_input(struct kernel *k, const char *text, size_t n)
{
	cell_input(&k->cell, &k->link, text, n);
}

void kernel_disk_full(struct kernel *k)
{
	if (k->state != KERNEL_WAKING)
		cell_interrupt(&k->cell, CELL_DISK_FULL);
}

/* ---- dying */

static void on_unkillable(struct timeout *t)
{
	struct kernel *k = container_of(t, struct kernel, timer);
	kernel_fail(k, "could not be killed");
}

static void kill_now(struct kernel *k)
{
	k->state = KERNEL_DYING;
	k->killed = true;
	timeout_start(k->setup->poller, &k->timer, KILL_PATIENCE_MS, on_unkillable);
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
	timeout_start(k->setup->poller, &k->timer, EXIT_PATIENCE_MS, on_exit_patience);
}

static void tell_taken(const struct kernel *k)
{
	if (write(k->taken_fd, "", 1) < 0)
		return; /* the socket is full or the kernel is dead: nothing waits */
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
	k->setup->on_variables(k);
	if (k->restart_waits) {
		k->restart_waits = false;
		timeout_stop(&k->list_timer);
		if (k->state == KERNEL_IDLE)
			kernel_tell_idle(k);
	}
}

static void on_message(struct link *l, const struct link_message *m)
{
	struct kernel *k = container_of(l, struct kernel, link);
	const char *why;
	/* Output printed before a message must precede it. All messages of one read were sent before that read. */
	if (l->fresh)
		pipes_drain(k->pipes);
	l->fresh = false;
	bool asked = k->variables_id && m->id == k->variables_id;
	if (m->op == LINK_VARIABLES && asked) {
		take_variables(k, m);
		return;
	}
	if (m->op == LINK_ANSWER && query_answered(&k->query, m) == 0)
		return;
	if (m->op == LINK_FORKED && kernel_forked(k, m) == 0)
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
	case KERNEL_WAKING:
	case KERNEL_FAILED:
		break;
	}
}

static bool oom_took(const struct kernel *k, int status)
{
	uint64_t now = limits_oom_kills(k->setup->limits);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && now != LIMIT_UNKNOWN && now > k->oom_kills &&
	       k->oom_kills != LIMIT_UNKNOWN;
}

/* Something in the container may keep killing the kernel. */
static bool flaps(struct kernel *k)
{
	if (clock_now_ms() - k->ready_ms >= FLAP_MS)
		kernel_note_well(k);
	return ++k->flaps > FLAPS_MAX;
}

static void died_idle(struct kernel *k, const struct death *d)
{
	AUTO(freep) char *how = death_describe(d);
	kernel_set_note(k, xasprintf("Before this run the kernel %s. " AFTER_RESTART, how));
	if (k->flaps > FLAPS_MAX)
		kernel_recover(k, how);
	else
		kernel_start(k);
}

static void end_branch(struct kernel *k)
{
	AUTO(freep) char *how = death_describe(&k->death);
	AUTO(freep) char *after =
		xasprintf("The branch '%s' has ended with it. The main interpreter is as it was.", k->branch->name);
	struct past next = { .note = after, .lost = k->past.lost };
	k->state = KERNEL_FAILED;
	cell_end_dead(&k->cell, &k->death, &next);
	k->setup->on_branch_died(k, how);
}

void kernel_give_up(struct kernel *k)
{
	if (k->state != KERNEL_WAKING)
		return;
	if (k->branch && !k->pid) {
		end_branch(k);
	} else if (k->pid) { /* it lives: it was held for an undo */
		k->state = KERNEL_IDLE;
		kernel_tell_idle(k);
	} else if (k->cell.run) {
		struct past next = { .note = (char *)AFTER_RESTART, .lost = k->past.lost };
		cell_end_dead(&k->cell, &k->death, &next);
		json_decref(take_ptr(k->past.lost));
		kernel_start(k);
	} else {
		died_idle(k, &k->death);
	}
}

void kernel_reaped(struct kernel *k, pid_t pid, int status)
{
	if (pid != k->pid || k->state == KERNEL_FAILED)
		return;
	bool starting = k->state == KERNEL_STARTING, waking = k->state == KERNEL_WAKING;
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
	k->death = (struct death){ .status = status,
				   .oom = !ours && oom_took(k, status),
				   .reason = ours ? k->kill_reason : NULL };
	k->fork_id = 0;
	if (starting) {
		AUTO(freep) char *how = death_describe(&k->death);
		kernel_start_failed(k, how);
		return;
	}
	kernel_lose_variables(k);
	if (k->cell.run && k->cell.stop == CELL_RUNS && !k->cell.has_spoken && k->link.unread) {
		json_auto_t *lost = take_ptr(k->past.lost);
		k->past.lost = cell_withdraw(&k->cell, lost);
	}
	bool doomed = false;
	if (k->cell.run) {
		kernel_note_well(k);
		cell_wait(&k->cell);
	} else {
		AUTO(freep) char *how = death_describe(&k->death);
		kernel_send_event(k, "kernel_died", "cause", how);
		doomed = !k->branch && flaps(k);
	}
	k->state = KERNEL_WAKING;
	if (!waking && (doomed || !k->setup->on_died(k)))
		kernel_give_up(k);
}

void kernel_end(struct kernel *k, const char *detail)
{
	timeout_stop(&k->timer);
	timeout_stop(&k->list_timer);
	handshake_stop(&k->handshake);
	query_lost(&k->query);
	pipes_drain(k->pipes);
	link_close(&k->link);
	if (k->pid > 0)
		procs_kill_session(k->pid);
	k->pid = 0;
	k->state = KERNEL_FAILED;
	cell_drop(&k->cell, detail);
}

static void branch_free(struct branch *b)
{
	if (!b)
		return;
	json_decref(b->lacks);
	free(b->name);
	free(b);
}

void kernel_lead(struct kernel *k)
{
	branch_free(take_ptr(k->branch));
}

struct kernel *kernel_free(struct kernel *k)
{
	if (!k)
		return NULL;
	list_remove(&k->node);
	timeout_stop(&k->timer);
	timeout_stop(&k->list_timer);
	query_stop(&k->query);
	link_close(&k->link);
	closep(&k->taken_fd);
	pipes_leave(k->pipes);
	past_release(&k->past);
	variables_release(&k->variables);
	branch_free(k->branch);
	free(k);
	return NULL;
}

int kernel_init(struct kernel *k, const struct kernel_setup *setup, uint32_t number)
{
	*k = (struct kernel){ .setup = setup, .number = number };
	k->state = KERNEL_DOWN;
	k->taken_fd = -1;
	list_init(&k->node);
	kernel_init_start(k);
	k->link = (struct link){ .fd = -1, .on_message = on_message, .on_dropped = on_dropped, .on_gone = on_gone };
	k->pipes = pipes_new(setup->poller);
	if (!k->pipes)
		return -EMFILE;
	k->cell = (struct cell){
		.poller = setup->poller,
		.pipes = k->pipes,
		.grace_ms = setup->grace_ms,
		.interrupt_signal = setup->manifest->interrupt,
		.limits = setup->limits,
		.on_done = on_done,
		.on_hopeless = on_hopeless,
	};
	k->query = (struct query){ .poller = setup->poller,
				   .signal = setup->manifest->interrupt,
				   .on_answer = on_query_answer };
	return 0;
}
