/* The kernels of a session. The first one is the main kernel: it runs the cells that name no other. */
#ifndef HUSK_KERNELS_CELLS_KERNELS_H
#define HUSK_KERNELS_CELLS_KERNELS_H

#include "kernels/cells/checkpoints.h"
#include "kernels/system/procs.h"

struct kernels {
	struct kernel_setup setup;
	struct list list; /* of struct kernel, which it owns */
	struct kernel *main;
	struct checkpoints checkpoints; /* of the main kernel */
	struct procs_set processes;	/* for kernels_have() */
	uint32_t last_number;
	struct list gone; /* freed by `sweep`, because their callbacks may still run */
	struct timeout sweep;
};

/* The caller has set `setup` and the fields of `checkpoints`. Makes the main kernel; nothing is started. 0 or -errno. */
int kernels_init(struct kernels *all);
/* A further kernel, without a process. NULL if there are no descriptors for it. */
struct kernel *kernels_add(struct kernels *all);
/* Frees a kernel that has ended and has no runs. */
void kernels_remove(struct kernels *all, struct kernel *k);
/* The kernel that runs this cell, or will run it; NULL if that kernel is gone. */
struct kernel *kernels_of(const struct kernels *all, const struct run *run);
/* True if every kernel is idle. */
bool kernels_idle(const struct kernels *all);
/* True for the process of a kernel or of a checkpoint, which leads a process session. */
bool kernels_have(const struct kernels *all, pid_t pid);
/* Interrupts the running cells, because the disk is full. */
void kernels_disk_full(struct kernels *all);
/* As kernel_kill(), for each of them. */
void kernels_kill(struct kernels *all, const char *why);
/* As kernel_restart(), for a session without branches. */
void kernels_restart(struct kernels *all);
/* Reads what the kernels have written. */
void kernels_drain(struct kernels *all);
/* The runs have been ended by the caller. */
void kernels_forget_runs(struct kernels *all);
/* Called for every reaped process. */
void kernels_reaped(struct kernels *all, pid_t pid, int status);

#endif
