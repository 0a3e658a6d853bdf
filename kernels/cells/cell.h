/* A call that runs on a kernel: checks the order of its messages, watches its time, interrupts it. It does not know how
 * kernels start or die; the kernel tells it. */
#ifndef HUSK_KERNELS_CELLS_CELL_H
#define HUSK_KERNELS_CELLS_CELL_H

#include <sys/types.h>

#include "kernels/cells/link.h"
#include "kernels/runs/pipes.h"

/* Libraries swallow a first interrupt; within the grace it is repeated. */
#define INTERRUPT_REPEAT_MS 1000

enum cell_stop { CELL_RUNS, CELL_TIMED_OUT, CELL_INTERRUPTED, CELL_DISK_FULL };

struct cell {
	struct poller *poller;
	struct pipes *pipes;
	uint64_t grace_ms;
	int interrupt_signal;
	const struct limits *limits;
	/* The call has ended and the kernel is well. */
	void (*on_done)(struct cell *c);
	/* The interrupt was ignored for the whole grace, or helped nothing: kill the kernel, then cell_end_dead(). `why`
	 * completes "the kernel …". */
	void (*on_hopeless)(struct cell *c, const char *why);

	struct run *run; /* NULL = none runs */
	json_int_t id;	 /* of the run on the link */
	pid_t group;
	enum cell_stop stop;
	bool has_result;
	bool has_error;
	int exit_code;	 /* that the error carried; -1 = none */
	bool has_spoken; /* the kernel has begun with it: it has sent something */
	bool is_done;	 /* after an interrupt; the processes it left behind have a moment to end */
	char *note;	 /* for the END: what became of the variables before this call; NULL = kept */
	json_t *lost;	 /* likewise: which; NULL = none are known of */
	uint64_t settle_until_ms;
	struct timeout settle;
	struct timeout limit;
	struct timeout grace;
	struct timeout repeat;
};

/* How a kernel process died. */
struct death {
	int status;	    /* of waitpid */
	bool oom;	    /* the OOM killer took it */
	const char *reason; /* why PID 1 killed it ("sent …", completes "the kernel …"), or NULL */
};

/* A kernel leads process group `group`. `note` and `lost` (may be NULL) are taken. 0, or -EPIPE if the link is gone: then nothing
 * has started and both are still the caller's. */
int cell_start(struct cell *c, struct run *run, struct link *link, pid_t group, char *note, json_t *lost);
/* 0, or -EPROTO and *ret_why if the kernel may not say this now. */
int cell_message(struct cell *c, const struct link_message *m, const char **ret_why);
/* Answers the question of the running call; dropped if it asks nothing. `text` is valid UTF-8. */
void cell_input(struct cell *c, struct link *link, const char *text, size_t n);
/* The kernel sent a display that cannot be passed on. */
void cell_dropped(struct cell *c);
/* Interrupts the running call; does nothing if none runs or if it is being interrupted already. */
void cell_interrupt(struct cell *c, enum cell_stop stop);
/* The kernel died before it had read the call, which is queued again. `lost` (may be NULL) is borrowed; returns which variables are
 * gone, a new reference or NULL. */
json_t *cell_withdraw(struct cell *c, json_t *lost);
/* Ends the running call because its kernel is dead. `after` is a sentence on what became of the kernel. */
void cell_end_dead(struct cell *c, const struct death *d, const char *kernel, const char *after, json_t *lost);
/* "exited with status 3", "was killed by signal 11 (Segmentation fault)", "sent …". The caller frees it. */
char *death_describe(const struct death *d);

#endif
