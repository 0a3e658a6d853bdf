/* Branches: kernels that begin as copies of the main one and run beside it, each with its own queue of cells.
 *
 * A cell that names a branch makes it, unless there is one. The copy is made between those cells of the main kernel
 * that were sent before and after it. One branch can become the main kernel; it then takes over the checkpoints, and
 * the former main kernel and the other branches end. A branch has no checkpoints of its own: it ends with its process. */
#ifndef HUSK_KERNELS_CELLS_BRANCHES_H
#define HUSK_KERNELS_CELLS_BRANCHES_H

#include "kernels/cells/kernels.h"

#define BRANCHES_MAX 8

struct branches {
	struct kernels *kernels;
	struct runs *runs;
	/* The answer to a request, an object; borrowed. */
	void (*on_answer)(struct branches *all, uint32_t call, const json_t *answer);
	/* Cells that waited may be able to start. */
	void (*on_change)(struct branches *all);

	bool fork_open;	    /* the unanswered `fork` of the main kernel is for a branch */
	struct list copies; /* used ones, freed by `sweep`, because their callbacks may still run */
	struct timeout sweep;
	/* How the last branches ended by themselves, until an answer says it. */
	struct ended {
		char *name, *how;
	} ended[BRANCHES_MAX];
	size_t n_ended;
	uint32_t call; /* the request that waits for new branches; 0 = none */
	json_t *later; /* a request that waits until no copy is being made; NULL = none */
	uint32_t later_call;
	uint64_t later_until_ms;
	struct timeout retry;
};

/* The caller has set the fields above `fork_open`. */
void branches_init(struct branches *all);
/* Gives a queued cell its kernel, which may be a new branch; or ends the run with the reason. */
void branches_take(struct branches *all, struct run *run);
/* Requests copies of the main kernel, which is idle. True if it must not start this cell yet; NULL = no cell waits. */
bool branches_hold(struct branches *all, const struct run *next);
/* For struct kernel_setup. The first is true if the copy was for a branch. */
bool branches_forked(struct branches *all, const char *cannot);
void branches_died(struct branches *all, struct kernel *k, const char *how);
/* The main kernel has a new process. */
void branches_main_changed(struct branches *all);
/* A request of the manager: {action: "branch" | "keep" | "drop", name | names}. False if it is about a checkpoint, not a
 * branch; otherwise on_answer follows once. */
bool branches_request(struct branches *all, uint32_t call, const json_t *request);
/* Adds `branches` to an answer, or also how much memory each has to an INFO. */
void branches_add(struct branches *all, json_t *to, bool measure);

#endif
