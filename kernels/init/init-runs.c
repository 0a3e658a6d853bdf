/* The kernels and the shell: how they are prepared, and when each gets its next run. */
#include "kernels/init/init-private.h"

#include "base/alloc.h"

static void start_next(struct init *i, struct kernel *k)
{
	struct run *run = i->ending || !kernel_idle(k) ? NULL : runs_next(&i->runs, RUN_EXECUTE, k->number);
	if (!run || !terminals_drop_spare(&i->terminals))
		return;
	if (k->branch)
		history_add(&k->history, run->number);
	else if (!run->restart)
		checkpoints_before_run(&i->kernels.checkpoints, run->number);
	kernel_run(k, run);
}

static void pump(struct init *i, struct kernel *k)
{
	bool leads = !i->ending && !k->branch && kernel_idle(k);
	if (!leads || !branches_hold(&i->branches, runs_next(&i->runs, RUN_EXECUTE, k->number)))
		start_next(i, k);
}

/* The main kernel first: this may remove branches from the list. */
void init_pump_kernels(struct init *i)
{
	pump(i, i->kernels.main);
	list_for_each(k, &i->kernels.list, struct kernel, node)
		if (k->branch)
			start_next(i, k);
}

void init_pump_commands(struct init *i)
{
	enum run_kind kind = i->options->install ? RUN_INSTALL : RUN_TERMINAL;
	struct run *run = i->ending || !terminals_idle(&i->terminals) ? NULL : runs_next(&i->runs, kind, 0);
	if (run)
		terminals_run(&i->terminals, run);
}

static void on_kernel_idle(struct kernel *k)
{
	struct init *i = init_of(k);
	pump(i, k);
	if (k == i->kernels.main && kernel_idle(k) && !i->ending)
		checkpoints_idle(&i->kernels.checkpoints);
	terminals_rest(&i->terminals);
}

static void on_terminal_idle(struct terminals *t)
{
	init_pump_commands(container_of(t, struct init, terminals));
	terminals_rest(t);
}

static bool is_known(const struct kernel *k, pid_t session)
{
	const struct init *i = init_of(k);
	return kernels_have(&i->kernels, session) || terminals_own(&i->terminals, session) ||
	       consoles_own(&i->consoles, session);
}

void init_on_console(struct consoles *c)
{
	(void)terminals_drop_spare(&container_of(c, struct init, consoles)->terminals);
}

static void on_spare_gone(struct terminals *t)
{
	init_pump_kernels(container_of(t, struct init, terminals));
}

static void on_kernel_event(struct kernel *k, json_t *event)
{
	struct init *i = init_of(k);
	if (!kernel_idle(k))
		(void)terminals_drop_spare(&i->terminals);
	controller_event(&i->controller, event);
}

static void on_killed_all(struct kernel *k)
{
	struct init *i = init_of(k);
	checkpoints_drop(&i->kernels.checkpoints);
	terminals_killed_all(&i->terminals);
	consoles_explain(&i->consoles, "Every process in the container was ended to make room for a new kernel.");
}

static void on_kernel_failed(struct kernel *k, const char *cause)
{
	struct init *i = init_of(k);
	AUTO(freep) char *detail =
		xasprintf("The session ends, since no kernel could be started: the last one %s.", cause);
	init_end_with_event(i, INIT_EXIT_FAILED, "kernel_failed", "kernel_died", detail);
}

int init_prepare_commands(struct init *i)
{
	i->terminals = (struct terminals){
		.poller = &i->poller,
		.limits = &i->limits,
		.kernels = &i->kernels.processes,
		.installer = &i->manifest.installer,
		.installed = &i->manifest.installed,
		.late_env = &i->manifest.late,
		.floor = i->options->disk_floor,
		.on_idle = on_terminal_idle,
		.is_at_rest = init_is_at_rest,
		.on_gone = on_spare_gone,
	};
	return terminals_init(&i->terminals, &i->env);
}

static bool is_quiet(const struct checkpoints *all)
{
	struct init *i = init_of(all->kernel);
	return !i->ending && !runs_next(&i->runs, RUN_EXECUTE, all->kernel->number);
}

static void on_started(struct kernel *k)
{
	branches_main_changed(&init_of(k)->branches);
	checkpoints_started(&init_of(k)->kernels.checkpoints);
}

static void on_forked(struct kernel *k, const char *cannot)
{
	struct init *i = init_of(k);
	if (!branches_forked(&i->branches, cannot))
		checkpoints_forked(&i->kernels.checkpoints, cannot);
	init_pump_kernels(i); /* a branch may wait for the fork to be over */
}

static bool on_died(struct kernel *k)
{
	struct init *i = init_of(k);
	if (k->branch)
		return false;
	branches_main_changed(&i->branches);
	return !i->ending && checkpoints_died(&i->kernels.checkpoints);
}

static void on_branch_died(struct kernel *k, const char *how)
{
	branches_died(&init_of(k)->branches, k, how);
}

static void on_branches_change(struct branches *all)
{
	init_pump_kernels(container_of(all, struct init, branches));
}

int init_prepare_kernels(struct init *i)
{
	i->kernels.checkpoints = (struct checkpoints){
		.poller = &i->poller,
		.limits = &i->limits,
		.mode = i->options->checkpoints,
		.idle_ms = i->options->checkpoints_idle_ms,
		.on_answer = init_on_checkpoints,
		.is_quiet = is_quiet,
	};
	i->kernels.setup = (struct kernel_setup){
		.poller = &i->poller,
		.manifest = &i->manifest,
		.env = &i->env,
		.cwd = &i->cwd,
		.limits = &i->limits,
		.start_ms = i->options->start_ms,
		.grace_ms = i->options->grace_ms,
		.on_started = on_started,
		.on_forked = on_forked,
		.on_died = on_died,
		.on_branch_died = on_branch_died,
		.branches = &i->branches,
		.on_idle = on_kernel_idle,
		.on_event = on_kernel_event,
		.on_killed_all = on_killed_all,
		.on_failed = on_kernel_failed,
		.is_known = is_known,
		.on_variables = init_on_variables,
		.on_answer = init_on_answer,
	};
	i->branches = (struct branches){
		.kernels = &i->kernels,
		.runs = &i->runs,
		.on_answer = init_on_branches,
		.on_change = on_branches_change,
	};
	branches_init(&i->branches);
	return kernels_init(&i->kernels);
}
