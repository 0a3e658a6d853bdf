/* The checkpoints of the main kernel: when they are made and dropped, and how one of them takes its place.
 *
 * They are made automatically when the kernel is idle, at a bounded cost, so that a crash costs at most the last cells.
 * A client can also request one under a name. Their memory is bounded, and the automatic ones are dropped when the
 * session is idle, so that it then costs what it would cost without them. */
#ifndef HUSK_KERNELS_CELLS_CHECKPOINTS_H
#define HUSK_KERNELS_CELLS_CHECKPOINTS_H

#include "kernels/cells/checkpoint.h"

#define CHECKPOINTS_MAX 8
#define CHECKPOINTS_AUTOMATIC_MAX 2

enum checkpoints_mode {
	CHECKPOINTS_AUTO,
	CHECKPOINTS_REQUEST,
	CHECKPOINTS_OFF,
	CHECKPOINTS_GVISOR, /* off, since gVisor cannot copy a process */
};

struct checkpoints {
	struct poller *poller;
	const struct limits *limits;
	enum checkpoints_mode mode;
	uint64_t idle_ms; /* automatic ones are dropped after this long */
	struct kernel *kernel;
	/* The answer to a request, an object; borrowed. */
	void (*on_answer)(struct checkpoints *all, uint32_t call, const json_t *answer);
	/* True if no cell waits for the kernel. */
	bool (*is_quiet)(const struct checkpoints *all);

	struct list list; /* oldest first */
	struct list gone; /* freed by `sweep`, because their callbacks may still run */
	struct timeout sweep;
	uint64_t asked_us, cost_us; /* of the last fork */
	uint64_t worked_us;	    /* of the kernel, at the last fork */
	bool covered;		    /* no cell has begun since the last checkpoint */
	bool expired;		    /* the automatic ones were dropped: the next cell makes one first */
	bool remake;		    /* the checkpoint that became the kernel is made again, as `remade` */
	char *remade;
	char *cannot; /* why the kernel could not be copied; NULL = it could */
	char *news;   /* for the next END */
	struct timeout pause, idle, watch;
	struct checkpoint *waking;
	bool restores; /* the kernel waits for one of them */
	uint32_t call; /* the request that is not answered yet; 0 = none */
	char *wanted;  /* its name, while it waits for another checkpoint to be made */
	json_t *later; /* another request that waits for that; NULL = none */
	uint32_t later_call;
	struct timeout retry;
};

/* The caller has set the fields above `list`. */
void checkpoints_init(struct checkpoints *all);

/* The kernel has become idle. */
void checkpoints_idle(struct checkpoints *all);
/* A cell is about to be sent to the kernel. */
void checkpoints_before_run(struct checkpoints *all, uint32_t run);
/* The kernel is a new process without variables. */
void checkpoints_started(struct checkpoints *all);
/* For struct kernel_setup. */
void checkpoints_forked(struct checkpoints *all, const char *cannot);
/* A fork that was not for a checkpoint is over. */
void checkpoints_fork_over(struct checkpoints *all);
bool checkpoints_died(struct checkpoints *all);
/* Called for every reaped process. */
void checkpoints_reaped(struct checkpoints *all, pid_t pid);
/* True for the process of a checkpoint. */
bool checkpoints_have(const struct checkpoints *all, pid_t pid);
/* Another kernel is the main one now. Automatic checkpoints of the former one are dropped. */
void checkpoints_follow(struct checkpoints *all, struct kernel *k);
/* True if none is being made or woken up. */
bool checkpoints_settled(const struct checkpoints *all);
/* True if one has this name. */
bool checkpoints_name(const struct checkpoints *all, const char *name);
/* Why the kernel cannot be copied; NULL = it can. */
const char *checkpoints_why_not(const struct checkpoints *all);
/* Kills them all. */
void checkpoints_drop(struct checkpoints *all);

/* A request of the manager: {action: "save" | "undo" | "drop", name?, run?}. on_answer follows once. */
void checkpoints_request(struct checkpoints *all, uint32_t call, const json_t *request);
/* Adds `checkpoints` to an answer. */
void checkpoints_add_list(const struct checkpoints *all, json_t *to);
/* Adds `checkpoints`, and why there cannot be any, to an INFO. */
void checkpoints_add_info(struct checkpoints *all, json_t *info);

#endif
