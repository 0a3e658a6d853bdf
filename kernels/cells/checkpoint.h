/* A copy of a kernel's process, made by fork, that waits until it takes the kernel's place. It has a link of its own,
 * and proves by its credentials that it is a process of the session; user code in the kernel could otherwise name any
 * process. */
#ifndef HUSK_KERNELS_CELLS_CHECKPOINT_H
#define HUSK_KERNELS_CELLS_CHECKPOINT_H

#include "kernels/cells/kernel.h"

/* A copy that has not said hello, or has not woken up, within this time is killed. */
#define CHECKPOINT_PATIENCE_MS 2000
/* How many times longer PID 1 waits for one that only lacks a processor. */
#define CHECKPOINT_WAITS_MAX 9
/* Limits for the texts in which the kernel says what a copy lacks. */
#define CHECKPOINT_LOST_MAX 20
#define CHECKPOINT_LOST_CHARS 200

enum checkpoint_state { CHECKPOINT_COMING, CHECKPOINT_KEPT, CHECKPOINT_WAKING };

struct checkpoint {
	struct list node;
	struct kernel *kernel; /* that it is a copy of */
	struct pipes *pipes;   /* that it writes to; shared */
	struct kernel *owner;  /* the branch that it is for; NULL = it is kept */
	char *name;	       /* NULL = automatic */
	bool asked;	       /* a request waits for it */
	enum checkpoint_state state;
	struct history history;
	struct timespec made_at;
	uint64_t made_ms, worked_us;
	pid_t pid;   /* 0 = not known yet */
	bool closed; /* the copy has ended before its first byte */
	json_t *lost;
	uint64_t bytes; /* that only this process holds, when it was measured last */
	/* It is KEPT now; called once. */
	void (*on_ready)(struct checkpoint *c);
	/* It can take the kernel's place: checkpoint_give() is next. */
	void (*on_woken)(struct checkpoint *c);
	/* It is useless and its process is dead. The owner frees it. */
	void (*on_failed)(struct checkpoint *c);

	struct watch watch; /* until its credentials have come */
	struct link link;
	int taken_fd;
	uint64_t asked_ticks;
	json_int_t wake_id;
	struct timeout limit;
	unsigned waits;
};

/* Asks an idle kernel for a copy that writes to these pipes. 0 and *ret, which the caller owns and whose callbacks it
 * sets; or -errno. */
int checkpoint_take(struct checkpoint **ret, struct kernel *k, struct pipes *pipes);
/* The kernel says that it has forked. */
void checkpoint_forked(struct checkpoint *c);
void checkpoint_wake(struct checkpoint *c);
/* After on_woken: its process, which the caller gives to a kernel. The owner frees the checkpoint. */
struct kernel_process checkpoint_give(struct checkpoint *c);
/* Reads how much memory only this process holds; 0 = not known. */
uint64_t checkpoint_private_bytes(pid_t pid);
void checkpoint_measure(struct checkpoint *c);
/* Kills the process, unless it has become the kernel's. */
struct checkpoint *checkpoint_free(struct checkpoint *c);

#endif
