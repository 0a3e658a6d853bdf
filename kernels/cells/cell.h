/* A run on a kernel: checks the order of the kernel's messages, enforces the time limit, interrupts the run. It
 * does not know how kernels start or die; kernel.c reports that. */
#ifndef HUSK_KERNELS_CELLS_CELL_H
#define HUSK_KERNELS_CELLS_CELL_H

#include <sys/types.h>

#include "kernels/cells/link.h"
#include "kernels/cells/past.h"
#include "kernels/runs/pipes.h"

/* Some libraries swallow the first interrupt, so it is repeated during the grace period. */
#define INTERRUPT_REPEAT_MS 1000

enum cell_stop { CELL_RUNS, CELL_TIMED_OUT, CELL_INTERRUPTED, CELL_DISK_FULL };

struct cell {
	struct poller *poller;
	struct pipes *pipes;
	uint64_t grace_ms;
	int interrupt_signal;
	const struct limits *limits;
	/* The run has ended and the kernel is usable. */
	void (*on_done)(struct cell *c);
	/* The cell ignored the interrupt for the whole grace period, or the processes that it left behind fill the
	 * process limit. The caller kills the kernel, then calls cell_end_dead(). `why` completes "the kernel …". */
	void (*on_hopeless)(struct cell *c, const char *why);

	struct run *run; /* NULL = nothing runs */
	json_int_t id;	 /* of the run, on the link */
	pid_t group;
	enum cell_stop stop;
	bool has_result;
	bool has_error;
	int exit_code;	  /* from the error; -1 = none */
	bool has_spoken;  /* the kernel has sent something, so it has started the run */
	bool is_done;	  /* the kernel has finished; after an interrupt, processes of the run get a moment to end */
	struct past past; /* for the END */
	uint64_t settle_until_ms;
	struct timeout settle;
	struct timeout limit;
	struct timeout grace;
	struct timeout repeat;
};

/* How a kernel process died. */
struct death {
	int status;	    /* from waitpid */
	bool oom;	    /* killed by the OOM killer */
	const char *reason; /* why PID 1 killed it ("sent …", completes "the kernel …"), or NULL */
};

/* `group` is the kernel's process group. Takes the content of `past` and leaves it empty. 0, or -EPIPE if the link is
 * closed: then nothing has started and `past` is unchanged. */
int cell_start(struct cell *c, struct run *run, struct link *link, pid_t group, struct past *past);
/* 0, or -EPROTO and *ret_why if the kernel may not send this message now. */
int cell_message(struct cell *c, const struct link_message *m, const char **ret_why);
/* Answers the prompt of the run; the text is dropped if there is no prompt. `text` is valid UTF-8. */
void cell_input(struct cell *c, struct link *link, const char *text, size_t n);
/* The kernel sent a display that cannot be passed on. */
void cell_dropped(struct cell *c);
/* Interrupts the run; does nothing if nothing runs or an interrupt is already under way. */
void cell_interrupt(struct cell *c, enum cell_stop stop);
/* The kernel died before it had read the run, which is queued again. `lost` (may be NULL) is borrowed. Returns the
 * lost variables, a new reference or NULL. */
json_t *cell_withdraw(struct cell *c, json_t *lost);
/* Ends the run because its interpreter is no longer wanted. Does nothing if nothing runs. */
void cell_drop(struct cell *c, const char *detail);
/* The kernel is dead: until the run is ended or withdrawn, its time limit does not apply. */
void cell_wait(struct cell *c);
/* Ends the run because its kernel is dead. `next` has a sentence about what happened then, and is borrowed. */
void cell_end_dead(struct cell *c, const struct death *d, const struct past *next);
/* "exited with status 3", "was killed by signal 11 (Segmentation fault)", "sent …". The caller frees it. */
char *death_describe(const struct death *d);

#endif
