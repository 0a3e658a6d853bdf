/* A call that runs on a kernel: checks the order of its messages, watches its time, interrupts it. It does not know how
 * kernels start or die; the kernel tells it. */
#ifndef HUSK_KERNELS_CELL_H
#define HUSK_KERNELS_CELL_H

#include <sys/types.h>

#include "kernels/link.h"
#include "kernels/pipes.h"

/* Libraries swallow a first interrupt; within the grace it is repeated. */
#define INTERRUPT_REPEAT_MS 1000

enum cell_stop { CELL_RUNS, CELL_TIMED_OUT, CELL_INTERRUPTED };

struct cell {
	struct poller *poller;
	struct pipes *pipes;
	uint64_t grace_ms;
	int interrupt_signal;
	/* The interrupt was ignored for the whole grace: kill the kernel, then cell_end_dead(). */
	void (*on_hung)(struct cell *c);

	struct call *call; /* NULL = none runs */
	pid_t group;
	enum cell_stop stop;
	bool has_result;
	bool has_error;
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

/* A kernel leads process group `group`. 0, or -EPIPE if the link is gone (then nothing has started). */
int cell_start(struct cell *c, struct call *call, struct link *link, pid_t group);
/* 0 = goes on, 1 = done and ended, -EPROTO and *ret_why if the kernel may not say this now. `note` (may be NULL) goes to
 * the detail of the END. */
int cell_message(struct cell *c, const struct link_message *m, const char *note, const char **ret_why);
/* Interrupts the running call; does nothing if none runs or if it is being interrupted already. */
void cell_interrupt(struct cell *c, enum cell_stop stop);
/* Ends the running call because its kernel is dead. `after` is a sentence on what became of the kernel. */
void cell_end_dead(struct cell *c, const struct death *d, const char *kernel, const char *after);
/* "exited with status 3", "was killed by signal 11 (Segmentation fault)", "sent …". The caller frees it. */
char *death_describe(const struct death *d);

#endif
