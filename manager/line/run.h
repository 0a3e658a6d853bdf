/* One execution on a line: sent, guarded, collected, answered once. It is sent at once; PID 1 keeps the order.
 *
 * A run that a former server started is one too: PID 1 replays it, nobody waits for it, and it is kept until the result of
 * another run has carried it. Only then is it acknowledged: nothing is lost, and nothing is told twice. */
#ifndef HUSK_MANAGER_LINE_RUN_H
#define HUSK_MANAGER_LINE_RUN_H

#include "manager/line/collect.h"
#include "manager/line/dispatch.h"

/* Embedded in its owner, or the line's own once it was abandoned or if it is a former server's. */
struct run {
	struct list node;
	struct dispatch *dispatch;
	uint32_t call;
	enum run_kind kind;
	uint64_t timeout_seconds;
	/* A piece of live output: the head as it comes, then now and then the end of what was written. May be NULL. */
	void (*on_output)(struct run *run, int stream, const void *data, size_t n);
	/* The last bytes of a stream of which more was written than the head. May be NULL. */
	void (*on_tail)(struct run *run, int stream, const void *data, size_t n);
	/* All of it comes again, from its beginning. May be NULL. */
	void (*on_replay)(struct run *run);
	/* Once, with what happened; the run is off the line by then and its owner frees it. f is set if nothing ran. The
	 * result is the owner's to change, and released after the call. */
	void (*on_end)(struct run *run, struct run_result *result, const struct fail *f);

	/* Private. */
	bool sent;	    /* on any connection: from then on it may have run */
	bool abandoned;	    /* cancelled: the end is acknowledged and nobody is told; the line frees it */
	bool earlier;	    /* a former server's; heap memory of ours */
	bool ended;	    /* likewise: its end is in `result` */
	uint64_t began_ms;  /* when it was the first of its kind, about when PID 1 began to run it; 0 = not yet */
	uint64_t asked_ms;  /* when PID 1 was asked for a sign of life, since its end is late; 0 = not yet */
	struct buf request; /* the frame that starts it, sent again if a broken connection swallowed it */
	struct collect *collect;
	struct timer *guard;
	struct run_result result;
};

/* What is to run. */
struct run_spec {
	const char *text; /* valid UTF-8; of a cell or a command */
	size_t len;
	const struct strv *env;		    /* NAME=value, for it alone; NULL = none */
	const char *cwd;		    /* of a command; NULL = none */
	const struct wire_install *install; /* of an install */
};

/* Sends a run whose kind, limit and callbacks are set. -1 with f if it cannot be taken; the run is untouched then. */
int run_start(struct run *run, struct dispatch *c, const struct run_spec *spec, struct fail *f);
/* Interrupts it. It must be heap memory from here on: the line frees it when PID 1 has ended it. */
void run_abandon(struct run *run);
/* The same, but it runs on: its end is for the next server. */
void run_forget(struct run *run);

/* --- for the line ---------------------------------------------------------------------------------------------- */
/* A frame of a call that is no transfer's. 0, or negative if PID 1 broke the protocol. */
int runs_frame(struct dispatch *c, const struct wire_frame *frame);
/* After a hello: PID 1 replays what it knows; what it never heard of is sent again. */
void runs_resume(struct dispatch *c, uint32_t last_known);
/* Ends all that somebody waits for, with what has come so far and a cause of ours. */
void runs_cut(struct dispatch *c, enum ending ending, const struct fail *why);
/* Drops all without an answer. Embedded ones are only unlinked. */
void runs_release(struct dispatch *c);
/* Something is running, ours or a former server's. */
bool runs_busy(const struct dispatch *c);

#endif
