/* The language kernel: started, listened to, killed, started again. One process at a time, in a session of its own.
 *
 * When a start fails (it dies twice, or again and again soon after its hello, does not say hello in time, the process
 * limit is reached) every process of the container is killed and one more start is tried; if that fails too, the
 * container is of no use: on_failed. */
#ifndef HUSK_KERNELS_CELLS_KERNEL_H
#define HUSK_KERNELS_CELLS_KERNEL_H

#include "kernels/cells/cell.h"
#include "kernels/cells/handshake.h"
#include "kernels/cells/manifest.h"
#include "kernels/cells/query.h"
#include "kernels/cells/variables.h"

enum kernel_state {
	KERNEL_DOWN, /* a start is due */
	KERNEL_STARTING,
	KERNEL_IDLE,
	KERNEL_BUSY,
	KERNEL_DYING, /* waiting to be reaped */
	KERNEL_FAILED,
};

struct kernel {
	struct poller *poller;
	const struct manifest *manifest;
	const struct strv *env; /* of every child; the address of the link is added */
	const char *const *cwd; /* where it starts */
	const struct limits *limits;
	uint64_t start_ms;
	/* A new call can run. Also called after each call. */
	void (*on_idle)(struct kernel *k);
	void (*on_event)(struct kernel *k, json_t *event); /* borrowed: the payload of an EVENT */
	void (*on_killed_all)(struct kernel *k);
	void (*on_failed)(struct kernel *k, const char *cause);
	/* True if a process of this session is a running call's, or PID 1's own affair. */
	bool (*is_known)(const struct kernel *k, pid_t session);
	/* Its variables are known anew. */
	void (*on_variables)(struct kernel *k);
	/* The answer to a question, a JSON object. */
	void (*on_answer)(struct kernel *k, uint32_t number, const void *json, size_t n);

	enum kernel_state state;
	pid_t pid;
	char language_version[64];
	struct pipes pipes;
	struct handshake handshake;
	struct link link;
	int taken_fd; /* to the kernel: what it displayed is in its place, and it may go on; -1 = none */
	struct cell cell;
	struct timeout timer; /* the deadline of the present state */
	bool killed;	      /* by us, for kill_reason */
	const char *kill_reason;
	unsigned deaths;   /* in a row, before a hello */
	unsigned flaps;	   /* in a row, soon after a hello and without a call */
	bool killed_all;   /* since a kernel did well */
	uint64_t ready_ms; /* when it said hello */
	uint64_t fork_until_ms;
	uint64_t oom_kills;
	char *note;   /* for the next call: what happened to its variables */
	json_t *lost; /* likewise: which */
	struct variables variables;
	bool looks_at;	     /* it can tell them */
	json_int_t looking;  /* the id of the look that it has not answered; 0 = none */
	bool looked;	     /* since the last cell */
	bool looks_last;     /* a restart waits for the answer */
	bool unseen;	     /* a cell has run since the last look was sent */
	uint64_t look_ms;    /* when that was; 0 = never */
	struct timeout look; /* a moment after a cell, or until a restart */
	bool takes_queries;
	struct query query;
};

/* Fields above `state` are set by the caller. 0 or -errno; then kernel_start(). */
int kernel_init(struct kernel *k, uint64_t grace_ms, int interrupt_signal);
void kernel_start(struct kernel *k);
/* Ends the kernel, if there is one, and starts another with the environment as it is now. A running cell ends with it. */
void kernel_restart(struct kernel *k);
/* Runs a queued call; only when idle. */
void kernel_run(struct kernel *k, struct run *run);
void kernel_interrupt(struct kernel *k);
/* Answers what the running cell asks. */
void kernel_input(struct kernel *k, const char *text, size_t n);
/* The running cell, if there is one, is to stop filling the disk. */
void kernel_disk_full(struct kernel *k);
/* Ends it at once; another one is started. `why` is static and completes "the kernel …". */
void kernel_kill(struct kernel *k, const char *why);
/* Asks an idle kernel for its variables: true if on_variables will follow, unless it dies. */
bool kernel_look(struct kernel *k);
/* Puts the manager's question to a kernel that is idle: on_answer follows, once, perhaps from inside. */
void kernel_query(struct kernel *k, uint32_t number, const json_t *question);
/* Called for every reaped process; all but the kernel are ignored. */
void kernel_reaped(struct kernel *k, pid_t pid, int status);
static inline bool kernel_idle(const struct kernel *k)
{
	return k->state == KERNEL_IDLE;
}
const char *kernel_state_name(const struct kernel *k);

#endif
