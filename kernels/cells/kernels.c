#include "kernels/cells/kernels.h"

#include <errno.h>

#include "base/alloc.h"

struct kernel *kernels_add(struct kernels *all)
{
	struct kernel *k = xmalloc(sizeof(*k));
	if (kernel_init(k, &all->setup, all->last_number + 1) < 0)
		return kernel_free(k);
	all->last_number++;
	list_append(&all->list, &k->node);
	return k;
}

static void on_sweep(struct timeout *t)
{
	struct kernels *all = container_of(t, struct kernels, sweep);
	list_for_each(k, &all->gone, struct kernel, node)
		kernel_free(k);
}

void kernels_remove(struct kernels *all, struct kernel *k)
{
	list_remove(&k->node);
	list_append(&all->gone, &k->node);
	timeout_start(all->setup.poller, &all->sweep, 1, on_sweep);
}

static bool has(pid_t pid, const void *ctx)
{
	return kernels_have(ctx, pid);
}

int kernels_init(struct kernels *all)
{
	all->processes = (struct procs_set){ has, all };
	list_init(&all->list);
	list_init(&all->gone);
	all->setup.checkpoints = &all->checkpoints;
	checkpoints_init(&all->checkpoints);
	all->main = kernels_add(all);
	all->checkpoints.kernel = all->main;
	return all->main ? 0 : -EMFILE;
}

struct kernel *kernels_of(const struct kernels *all, const struct run *run)
{
	list_for_each(k, &all->list, struct kernel, node)
		if (k->number == run->kernel)
			return k;
	return NULL;
}

bool kernels_idle(const struct kernels *all)
{
	list_for_each(k, &all->list, struct kernel, node)
		if (!kernel_idle(k))
			return false;
	return true;
}

bool kernels_have(const struct kernels *all, pid_t pid)
{
	list_for_each(k, &all->list, struct kernel, node)
		if (pid == k->pid || (k->branch && k->branch->copy && pid == k->branch->copy->pid))
			return true;
	return checkpoints_have(&all->checkpoints, pid);
}

void kernels_disk_full(struct kernels *all)
{
	list_for_each(k, &all->list, struct kernel, node)
		kernel_disk_full(k);
}

void kernels_kill(struct kernels *all, const char *why)
{
	list_for_each(k, &all->list, struct kernel, node)
		kernel_kill(k, why);
}

void kernels_restart(struct kernels *all)
{
	checkpoints_drop(&all->checkpoints);
	list_for_each(k, &all->list, struct kernel, node)
		if (!k->branch)
			kernel_restart(k);
}

void kernels_drain(struct kernels *all)
{
	list_for_each(k, &all->list, struct kernel, node)
		pipes_drain(k->pipes);
}

void kernels_forget_runs(struct kernels *all)
{
	list_for_each(k, &all->list, struct kernel, node) {
		k->pipes->run = NULL;
		k->cell.run = NULL;
	}
}

void kernels_reaped(struct kernels *all, pid_t pid, int status)
{
	list_for_each(k, &all->list, struct kernel, node) {
		struct checkpoint *copy = k->branch ? k->branch->copy : NULL;
		if (copy && copy->pid == pid) {
			copy->pid = 0;
			copy->on_failed(copy);
			return;
		}
		if (k->pid == pid) {
			kernel_reaped(k, pid, status); /* this may remove others from the list */
			return;
		}
	}
	checkpoints_reaped(&all->checkpoints, pid);
}
