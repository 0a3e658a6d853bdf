#include "kernels/commands/terminals.h"

#include "base/alloc.h"
#include "kernels/guard/spawn.h"

/* A spare is started only after this pause, so that PID 1's fork does not delay a client that starts run after run. */
#define REST_MS 5
#define SPARE_LIFE_MS 60000
/* A killed process ends within this time, or hangs in the Linux kernel. */
#define LEAVE_MS 100
/* Each cell ends the spare. After this many, a session that only runs cells gets no more spares. */
#define SPARES_A_COMMAND 4
/* Processes and memory that a spare must leave free. */
#define PIDS_LEFT 32
#define MEMORY_LEFT (32u << 20)

static void on_place_idle(struct terminal *t);

static int open_place(struct terminals *all)
{
	struct terminal *t = &all->places[all->n_open];
	*t = (struct terminal){
		.poller = all->poller,
		.limits = all->limits,
		.kernels = all->kernels,
		.installer = all->installer,
		.installed = all->installed,
		.late_env = all->late_env,
		.floor = all->floor,
		.state = &all->state,
		.more_env = &all->more_env,
		.spare = &all->spare,
		.on_idle = on_place_idle,
	};
	int r = terminal_init(t);
	if (r == 0)
		all->n_open++;
	return r;
}

int terminals_init(struct terminals *all, const struct strv *env)
{
	all->state.cwd = xstrdup(SPAWN_WORKSPACE);
	for (size_t i = 0; i < env->n; i++)
		strv_set_env(&all->state.env, env->v[i]);
	all->front = &all->places[0];
	all->spare = BASH_NONE;
	return open_place(all);
}

/* The variables are not added to the state directly: a command that is running now replaces the state when it ends. */
void terminals_add_env(struct terminals *all, const struct strv *env)
{
	(void)terminals_drop_spare(all);
	for (size_t i = 0; i < env->n; i++)
		strv_set_env(&all->more_env, env->v[i]);
}

void terminals_set_cwd(struct terminals *all, const char *cwd)
{
	(void)terminals_drop_spare(all);
	free(all->state.cwd);
	all->state.cwd = xstrdup(cwd);
}

/* ---- the spare */

static bool memory_is_short(const struct limits *l)
{
	uint64_t now = limits_memory_now(l);
	return now != LIMIT_UNKNOWN && l->memory_limit != LIMIT_UNKNOWN && now + MEMORY_LEFT > l->memory_limit;
}

static void on_unused(struct timeout *timer)
{
	struct terminals *all = container_of(timer, struct terminals, spare_timer);
	all->spares_left = 0;
	(void)terminals_drop_spare(all);
}

static void on_rested(struct timeout *timer)
{
	struct terminals *all = container_of(timer, struct terminals, spare_timer);
	if (all->spare.pid || all->more_env.n || !all->is_at_rest(all) || !bash_may_wait_with(&all->state.env) ||
	    !spawn_can_enter(all->state.cwd) || !limits_pids_left(all->limits, PIDS_LEFT) ||
	    memory_is_short(all->limits))
		return;
	all->spares_left--;
	int r = bash_start(
		&all->spare,
		&(struct bash_spec){ .pipes = &all->front->pipes, .env = &all->state.env, .cwd = all->state.cwd },
		/* command= */ NULL, 0);
	if (r == 0)
		timeout_start(all->poller, &all->spare_timer, SPARE_LIFE_MS, on_unused);
}

void terminals_rest(struct terminals *all)
{
	if (all->leaving)
		return;
	/* A rejected run stops the spare's timer without using the spare. */
	if (all->spare.pid && !timeout_active(&all->spare_timer))
		timeout_start(all->poller, &all->spare_timer, SPARE_LIFE_MS, on_unused);
	else if (all->spares_left && !all->spare.pid)
		timeout_start(all->poller, &all->spare_timer, REST_MS, on_rested);
}

static void leave(struct terminals *all)
{
	all->leaving = 0;
	timeout_stop(&all->spare_timer);
	all->on_gone(all);
}

static void on_leave_limit(struct timeout *timer)
{
	leave(container_of(timer, struct terminals, spare_timer));
}

bool terminals_drop_spare(struct terminals *all)
{
	if (all->leaving)
		return false;
	timeout_stop(&all->spare_timer);
	if (!all->spare.pid)
		return true;
	all->leaving = all->spare.pid;
	bash_drop(&all->spare);
	timeout_start(all->poller, &all->spare_timer, LEAVE_MS, on_leave_limit);
	return false;
}

/* ---- slots */

/* A free slot, or NULL if all are in use or none can be created. */
static struct terminal *free_place(struct terminals *all)
{
	for (size_t i = 0; i < all->n_open; i++)
		if (!all->places[i].run)
			return &all->places[i];
	if (all->n_open == ARRAY_LEN(all->places) || open_place(all) < 0)
		return NULL;
	return &all->places[all->n_open - 1];
}

void terminals_make_way(struct terminals *all)
{
	struct terminal *front = all->front;
	if (!front->run || !front->run->aside)
		return;
	struct terminal *next = free_place(all);
	if (!next)
		return;
	front->aside = front->run->beside = true;
	all->front = next;
	all->on_idle(all);
}

static void on_place_idle(struct terminal *t)
{
	/* All slots point to the same state. */
	struct terminals *all = container_of(t->state, struct terminals, state);
	if (t == all->front)
		all->on_idle(all);
	else
		terminals_make_way(all);
}

void terminals_run(struct terminals *all, struct run *run)
{
	/* Hand over the output that background processes have written since their commands ended. */
	for (size_t i = 0; i < all->n_open; i++)
		if (!all->places[i].run && &all->places[i] != all->front)
			pipes_hand_over(&all->places[i].pipes, run);
	if (!all->leaving)
		timeout_stop(&all->spare_timer);
	all->spares_left = run->kind == RUN_TERMINAL ? SPARES_A_COMMAND : 0;
	all->front->killed_all = all->killed_all;
	all->killed_all = false;
	terminal_run(all->front, run);
}

bool terminals_busy(const struct terminals *all)
{
	bool busy = false;
	for (size_t i = 0; i < all->n_open; i++)
		busy |= all->places[i].run != NULL;
	return busy;
}

bool terminals_own(const struct terminals *all, pid_t session)
{
	bool own = session == all->spare.pid || session == all->leaving;
	for (size_t i = 0; i < all->n_open; i++) {
		const struct terminal *t = &all->places[i];
		own |= t->run && (t->pid == session || t->pid == -session);
	}
	return own;
}

void terminals_interrupt(struct terminals *all, const struct run *run)
{
	for (size_t i = 0; i < all->n_open; i++)
		if (all->places[i].run == run)
			terminal_interrupt(&all->places[i]);
}

void terminals_input(struct terminals *all, const struct run *run, const char *text, size_t n)
{
	for (size_t i = 0; i < all->n_open; i++)
		if (all->places[i].run == run)
			terminal_input(&all->places[i], text, n);
}

void terminals_changed(struct terminals *all)
{
	for (size_t i = 0; i < all->n_open; i++)
		bash_end_stopped(&all->places[i].bash);
}

void terminals_reaped(struct terminals *all, pid_t pid, int status)
{
	if (pid == all->spare.pid)
		bash_release(&all->spare);
	if (pid == all->leaving)
		leave(all);
	for (size_t i = 0; i < all->n_open; i++)
		terminal_reaped(&all->places[i], pid, status);
}

void terminals_drain(struct terminals *all)
{
	for (size_t i = 0; i < all->n_open; i++)
		terminal_drain(&all->places[i]);
}

void terminals_killed_all(struct terminals *all)
{
	bool told = false;
	for (size_t i = 0; i < all->n_open; i++) {
		all->places[i].killed_all |= all->places[i].run != NULL;
		told |= all->places[i].run != NULL;
	}
	all->killed_all |= !told;
}

void terminals_disk_full(struct terminals *all)
{
	for (size_t i = 0; i < all->n_open; i++)
		all->places[i].disk_full = all->places[i].run != NULL;
}

void terminals_sockets_full(struct terminals *all)
{
	for (size_t i = 0; i < all->n_open; i++)
		all->places[i].sockets_full = all->places[i].run != NULL;
}

void terminals_forget(struct terminals *all)
{
	for (size_t i = 0; i < all->n_open; i++)
		terminal_forget(&all->places[i]);
}
