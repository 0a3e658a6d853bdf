#include "kernels/terminals.h"

#include "base/alloc.h"
#include "kernels/spawn.h"

static void on_place_idle(struct terminal *t);

static int open_place(struct terminals *all)
{
	struct terminal *t = &all->places[all->n_open];
	*t = (struct terminal){
		.poller = all->poller,
		.limits = all->limits,
		.kernel = all->kernel,
		.installer = all->installer,
		.relay = all->relay,
		.floor = all->floor,
		.state = &all->state,
		.more_env = &all->more_env,
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
	return open_place(all);
}

/* Not straight into the state: a command that is running now will replace that when it ends. */
void terminals_add_env(struct terminals *all, const struct strv *env)
{
	for (size_t i = 0; i < env->n; i++)
		strv_set_env(&all->more_env, env->v[i]);
}

void terminals_set_cwd(struct terminals *all, const char *cwd)
{
	free(all->state.cwd);
	all->state.cwd = xstrdup(cwd);
}

static struct terminals *all_of(struct terminal *t)
{
	/* Every place points to the one state. */
	return container_of(t->state, struct terminals, state);
}

/* A free place, or NULL if all are taken or none can be made. */
static struct terminal *free_place(struct terminals *all)
{
	for (size_t i = 0; i < all->n_open; i++)
		if (!all->places[i].job)
			return &all->places[i];
	if (all->n_open == ARRAY_LEN(all->places) || open_place(all) < 0)
		return NULL;
	return &all->places[all->n_open - 1];
}

void terminals_make_way(struct terminals *all)
{
	struct terminal *front = all->front;
	if (!front->job || !front->job->aside)
		return;
	struct terminal *next = free_place(all);
	if (!next)
		return;
	front->aside = front->job->beside = true;
	all->front = next;
	all->on_idle(all);
}

static void on_place_idle(struct terminal *t)
{
	struct terminals *all = all_of(t);
	if (t == all->front)
		all->on_idle(all);
	else
		terminals_make_way(all);
}

void terminals_run(struct terminals *all, struct job *job)
{
	/* What background processes have written meanwhile, whichever command had started them. */
	for (size_t i = 0; i < all->n_open; i++)
		if (!all->places[i].job && &all->places[i] != all->front)
			pipes_hand_over(&all->places[i].pipes, job);
	all->front->killed_all = all->killed_all;
	all->killed_all = false;
	terminal_run(all->front, job);
}

void terminals_interrupt(struct terminals *all, const struct job *job)
{
	for (size_t i = 0; i < all->n_open; i++)
		if (all->places[i].job == job)
			terminal_interrupt(&all->places[i]);
}

void terminals_input(struct terminals *all, const struct job *job, const char *text, size_t n)
{
	for (size_t i = 0; i < all->n_open; i++)
		if (all->places[i].job == job)
			terminal_input(&all->places[i], text, n);
}

void terminals_reaped(struct terminals *all, pid_t pid, int status)
{
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
		all->places[i].killed_all |= all->places[i].job != NULL;
		told |= all->places[i].job != NULL;
	}
	all->killed_all |= !told;
}

void terminals_disk_full(struct terminals *all)
{
	for (size_t i = 0; i < all->n_open; i++)
		all->places[i].disk_full = all->places[i].job != NULL;
}

void terminals_forget(struct terminals *all)
{
	for (size_t i = 0; i < all->n_open; i++)
		terminal_forget(&all->places[i]);
}
