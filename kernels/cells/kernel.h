/* A language kernel: starts it, reads its messages, kills it and restarts it. A kernel has one process at a time, in a
 * process session of its own, with a link and pipes of its own. kernels.h has all kernels of a session.
 *
 * A start fails if the kernel dies twice, dies again and again soon after its hello, does not say hello in time,
 * or the process limit is reached. Then every process of the container is killed and one more start is tried. If
 * that fails too, the container is unusable: on_failed. */
#ifndef HUSK_KERNELS_CELLS_KERNEL_H
#define HUSK_KERNELS_CELLS_KERNEL_H

#include "kernels/cells/cell.h"
#include "kernels/cells/handshake.h"
#include "kernels/cells/history.h"
#include "kernels/cells/manifest.h"
#include "kernels/cells/query.h"
#include "kernels/cells/variables.h"

enum kernel_state {
	KERNEL_DOWN, /* a start is due */
	KERNEL_STARTING,
	KERNEL_IDLE,
	KERNEL_BUSY,
	KERNEL_DYING,  /* waiting to be reaped */
	KERNEL_WAKING, /* a checkpoint is about to take the place of the process, which may be dead */
	KERNEL_FAILED,
};

struct branches;
struct checkpoint;
struct checkpoints;
struct kernel;

/* A kernel beside the main one, which begins as a copy of it. */
struct branch {
	char *name;
	uint32_t after;		 /* the main kernel runs no later cell before the copy is made */
	bool waits;		 /* the copy has not been requested yet */
	bool asked;		 /* a request waits for it */
	struct checkpoint *copy; /* that is becoming its process; NULL = none */
	size_t shared;		 /* so many cells of its history ran in the main kernel */
	uint64_t made_ms;
	json_t *lacks;	/* what the copy lacks, texts; NULL = nothing */
	uint64_t bytes; /* that only its process holds, when it was measured last */
};

/* A process that is to become a kernel's: it has said hello on its link, and is idle. */
struct kernel_process {
	pid_t pid;
	int link_fd, taken_fd;
	struct pipes *pipes; /* that it writes to */
};

/* The same for all kernels of a session. */
struct kernel_setup {
	struct poller *poller;
	const struct manifest *manifest;
	const struct strv *env; /* environment of every child; HUSK_LINK is added */
	const char *const *cwd; /* the working directory at the start */
	const struct limits *limits;
	uint64_t start_ms, grace_ms;
	struct checkpoints *checkpoints; /* of the main kernel */
	struct branches *branches;
	/* It is a new process, without variables. */
	void (*on_started)(struct kernel *k);
	/* A new run can start. Also called after each run. */
	void (*on_idle)(struct kernel *k);
	void (*on_event)(struct kernel *k, json_t *event); /* borrowed: the payload of an EVENT */
	void (*on_killed_all)(struct kernel *k);
	void (*on_failed)(struct kernel *k, const char *cause);
	/* True if this process session belongs to a run or to PID 1 itself. */
	bool (*is_known)(const struct kernel *k, pid_t session);
	/* The kernel has listed its variables. */
	void (*on_variables)(struct kernel *k);
	/* It has been copied, or `cannot` (static or borrowed) says why not. */
	void (*on_forked)(struct kernel *k, const char *cannot);
	/* The process of a branch died: `how` completes "its interpreter …". The caller removes the kernel. */
	void (*on_branch_died)(struct kernel *k, const char *how);
	/* It died. True if a checkpoint may take its place: kernel_adopt() or kernel_give_up() follows. */
	bool (*on_died)(struct kernel *k);
	/* The answer to a query, a JSON object. */
	void (*on_answer)(struct kernel *k, uint32_t number, const void *json, size_t n);
};

struct kernel {
	struct list node; /* of struct kernels */
	const struct kernel_setup *setup;
	uint32_t number;	/* a run names its kernel by it */
	struct branch *branch;	/* NULL = it is the main kernel */
	struct history history; /* its cells */

	enum kernel_state state;
	pid_t pid;
	char language_version[64];
	struct pipes *pipes;
	struct handshake handshake;
	struct link link;
	int taken_fd; /* tells the kernel that its display was received and it may continue; -1 = none */
	struct cell cell;
	struct timeout timer; /* the deadline of the current state */
	bool killed;	      /* by PID 1, for kill_reason */
	const char *kill_reason;
	unsigned deaths;   /* in a row, before a hello */
	unsigned flaps;	   /* in a row, soon after a hello and without a run */
	bool killed_all;   /* every process was killed since a kernel last worked */
	uint64_t ready_ms; /* time of its hello */
	uint64_t fork_until_ms;
	uint64_t oom_kills;
	struct past past;   /* for the next run */
	struct death death; /* while KERNEL_WAKING */
	struct variables variables;
	bool lists_variables;	   /* it can list its variables */
	json_int_t variables_id;   /* id of the unanswered `look`; 0 = none */
	bool variables_fresh;	   /* listed since the last cell */
	bool restart_waits;	   /* a restart waits for the list of variables */
	bool unseen;		   /* a cell has run since the list was last requested */
	uint64_t listed_ms;	   /* time of that request; 0 = never */
	struct timeout list_timer; /* fires a moment after a cell, or limits the wait of a restart */
	bool takes_queries;
	struct query query;
	bool forks;		      /* it can be copied */
	json_int_t fork_id;	      /* id of the unanswered `fork`; 0 = none */
	uint64_t began_us, worked_us; /* when the running cell began; time of all cells that have ended */
};

/* `setup` stays valid as long as the kernel. The caller calls kernel_start() next. 0 or -errno. */
int kernel_init(struct kernel *k, const struct kernel_setup *setup, uint32_t number);
void kernel_start(struct kernel *k);
/* Ends the kernel, if there is one, and starts another with the current environment. A running cell ends too. */
void kernel_restart(struct kernel *k);
/* Starts a queued run; only when idle. */
void kernel_run(struct kernel *k, struct run *run);
void kernel_interrupt(struct kernel *k);
/* Answers the prompt of the running cell. */
void kernel_input(struct kernel *k, const char *text, size_t n);
/* Interrupts the running cell, if there is one, because the disk is full. */
void kernel_disk_full(struct kernel *k);
/* Kills the kernel at once; another one is started. `why` is static and completes "the kernel …". */
void kernel_kill(struct kernel *k, const char *why);
/* Asks an idle kernel to list its variables: true if on_variables will follow, unless the kernel dies. */
bool kernel_list_variables(struct kernel *k);
/* Sends the manager's query to the kernel, if it is idle or soon will be: on_answer follows exactly once, perhaps before this returns. */
void kernel_query(struct kernel *k, uint32_t number, const json_t *request);
/* Asks an idle kernel for a copy of itself, which gets these descriptors: its link, stdout, stderr, and the end of
 * HUSK_TAKEN_FD. The caller keeps its descriptors. 0, then on_forked follows unless the kernel dies; or -errno. */
#define KERNEL_FORK_FDS 4
int kernel_fork(struct kernel *k, const int fds[KERNEL_FORK_FDS]);
/* An idle kernel takes no runs until kernel_adopt() or kernel_give_up(). */
void kernel_hold(struct kernel *k);
/* A process that was copied from this kernel takes its place. The old one is killed. Takes what is in `p`, and `next`:
 * what the END of the run that died has, or that of the next run. */
void kernel_adopt(struct kernel *k, const struct kernel_process *p, struct past *next);
/* The first process of a branch, which was copied from `main`. Takes what is in `p`. */
void kernel_begin(struct kernel *k, const struct kernel_process *p, const struct kernel *main);
/* Ends the process and its cell, whose END has this detail. The owner frees the kernel later, not in a callback of it. */
void kernel_end(struct kernel *k, const char *detail);
struct kernel *kernel_free(struct kernel *k);
/* A branch becomes the main kernel. */
void kernel_lead(struct kernel *k);
/* No copy takes its place: the kernel stays, or another one is started. */
void kernel_give_up(struct kernel *k);
/* Called for every reaped process; ignores all but the kernel. */
void kernel_reaped(struct kernel *k, pid_t pid, int status);
static inline bool kernel_idle(const struct kernel *k)
{
	return k->state == KERNEL_IDLE;
}
const char *kernel_state_name(const struct kernel *k);

#endif
