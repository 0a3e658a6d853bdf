/* Ends the session or some of its processes when a disk is full, sockets use too much memory, or the lease is over.
 * Also lets an idle session rest. */
#include "kernels/init/init-private.h"

#include "base/alloc.h"
#include "kernels/system/clock.h"
#include "kernels/system/procs.h"

/* Ends each run that has not ended yet, with an END frame. */
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
	kernels_forget_runs(&i->kernels);
	terminals_forget(&i->terminals);
}

void init_end_with_event(struct init *i, int status, const char *cause, const char *ending, const char *detail)
{
	if (i->ending)
		return;
	i->ending = true;
	i->exit_status = status;
	i->farewell_until_ms = clock_now_ms() + FAREWELL_MS;
	procs_kill_all();
	kernels_drain(&i->kernels);
	terminals_drain(&i->terminals);
	end_runs(i, ending, streq(cause, "disk") ? cause : NULL, detail);
	json_auto_t *event = json_pack("{s:s, s:s, s:s}", "event", "ending", "cause", cause, "detail", detail);
	controller_event(&i->controller, event);
}

void init_end(struct init *i, int status)
{
	i->ending = true;
	i->exit_status = status;
	i->farewell_until_ms = 0;
}

/* The engine removes the container next, which takes less time once its processes are gone. While the manager is
 * connected, PID 1 stays for a moment: if it exited first, the engine might start to remove the container by itself and
 * reject the manager's request. */
void init_stop(struct init *i)
{
	init_end(i, INIT_EXIT_OK);
	i->farewell_until_ms = clock_now_ms() + FAREWELL_MS;
	procs_kill_all();
}

/* Stops the processes that fill the home directory. Files and variables stay, so that the user can free space. */
static void on_home_over(struct disk *d, enum disk_state state, const char *why)
{
	struct init *i = container_of(d, struct init, home);
	if (state == DISK_BEYOND) {
		AUTO(freep) char *detail = xasprintf("The session ends, since it %s.", why);
		init_end_with_event(i, INIT_EXIT_OK, "disk", "error", detail);
		return;
	}
	terminals_disk_full(&i->terminals);
	consoles_explain(&i->consoles, "The home directory is full: every process but the interpreter was ended.");
	kernels_disk_full(&i->kernels);
	procs_kill_others(&i->kernels.processes);
}

void init_watch_home(struct init *i)
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

/* It is unknown which process holds the sockets: first all but the interpreter are killed, then the interpreter. */
static void on_sockets_over(struct sockets *s, unsigned times, const char *why)
{
	struct init *i = container_of(s, struct init, sockets);
	if (i->ending)
		return;
	AUTO(freep) char *text = xasprintf("The session's processes %s: every process %swas ended.", why,
					   times > 1 ? "" : "but the interpreter ");
	terminals_sockets_full(&i->terminals);
	consoles_explain(&i->consoles, text);
	procs_kill_others(&i->kernels.processes);
	if (times > 1)
		kernels_kill(&i->kernels, SOCKETS_KILLED);
}

void init_watch_sockets(struct init *i, int diag)
{
	i->sockets = (struct sockets){
		.poller = &i->poller,
		.diag = diag,
		.limit = sockets_limit(i->limits.memory_limit),
		.on_over = on_sockets_over,
	};
	sockets_start(&i->sockets);
}

bool init_is_at_rest(const struct terminals *t)
{
	const struct init *i = container_of(t, struct init, terminals);
	return !i->ending && kernels_idle(&i->kernels) && list_empty(&i->consoles.list) && !terminals_busy(t);
}

/* The kernel's pid if nothing else is in progress: no run, console, shell or retry, and no timer except those of the
 * watches. */
static pid_t idle_kernel(const struct rest *r)
{
	const struct init *i = container_of(r, struct init, rest);
	size_t watches = (size_t)timeout_active(&i->home.timer) + (size_t)timeout_active(&i->sockets.timer);
	bool idle = init_is_at_rest(&i->terminals) && !i->terminals.spare.pid && !i->home.under_way &&
		    !i->sockets.busy && !i->dial.again_ms && poller_timeouts(&i->poller) == watches;
	return idle ? i->kernels.main->pid : 0;
}

/* Any other event ends the rest. on_signals() decides about signals, since the stop of the kernel itself causes one. */
static void on_ready(struct poller *p, const struct watch *w)
{
	struct init *i = container_of(p, struct init, poller);
	if (w != &i->signals)
		rest_wake(&i->rest, clock_now_ms());
}

void init_let_rest(struct init *i)
{
	i->rest = (struct rest){ .disk = &i->home, .sockets = &i->sockets, .idle_kernel = idle_kernel };
	i->rest.own_sockets = i->manifest.tcp_port ? REST_LINK_SOCKETS : 0;
	i->poller.on_ready = on_ready;
}

void init_check_lease(struct init *i)
{
	switch (lease_tick(&i->lease, clock_now_ms(), clock_boot_ms())) {
	case LEASE_RUNS:
		break;
	case LEASE_OVER:
		init_end(i, INIT_EXIT_OK);
		break;
	case LIFETIME_OVER:
		init_end_with_event(i, INIT_EXIT_OK, "lifetime", "interrupted",
				    "The session has reached the end of its lifetime.");
		break;
	}
}
