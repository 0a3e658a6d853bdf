/* One execution on a line: sent at once (PID 1 keeps the order), collected, and kept until somebody was told of its end. The line
 * owns it; whoever waits for it has a waiter, at most one at a time.
 *
 * A run that nobody waits for (its waiter had enough, or a former server started it) goes on, and is kept: results of other runs
 * carry how it stands, and its end. Only what was told is acknowledged: nothing is lost, and nothing is told twice. */
#ifndef HUSK_MANAGER_LINE_RUN_H
#define HUSK_MANAGER_LINE_RUN_H

#include "manager/line/collect.h"
#include "manager/line/dispatch.h"

struct run;

#define RUN_WAIT_FOR_END UINT64_MAX

/* Embedded in its owner, and on no run when on_end is called. */
struct run_waiter {
	/* A piece of live output: the head as it comes, then now and then the end of what was written. May be NULL. */
	void (*on_output)(struct run_waiter *w, int stream, const void *data, size_t n);
	/* The last bytes of a stream of which more was written than the head. May be NULL. */
	void (*on_tail)(struct run_waiter *w, int stream, const void *data, size_t n);
	/* A display, as it comes. With it, nothing is told of what is written after the head but by on_tail at the end. May be NULL. */
	void (*on_display)(struct run_waiter *w, const struct shown_display *display);
	/* All of it comes again, from where it was told last: with so many of the displays that came before, updates apart. May be
	 * NULL. */
	void (*on_replay)(struct run_waiter *w, size_t displays);
	/* Once, with what is new: its end, or (ENDING_RUNNING) what there is when the wait is over; the run goes on then and is
	 * kept. f is set instead if nothing ran. The result is the owner's to change, and released after the call. */
	void (*on_end)(struct run_waiter *w, struct run_result *result, const struct fail *f);
	/* An end that PID 1 has told of is acknowledged by run_told(), once it is written down; until then it comes again on each
	 * new connection, to the next server too. Other runs do not ride on its result. */
	bool holds;
	/* 0, or the number of a client: other runs do not ride on its result either. */
	uint64_t client;

	/* Private; NULL once it waits no more. */
	struct run *run;
};

/* What is to run. */
struct run_spec {
	enum run_kind kind;
	uint64_t timeout_seconds;
	uint64_t wait_ms; /* or RUN_WAIT_FOR_END */
	const char *text; /* valid UTF-8; of a cell or a command */
	size_t len;
	const struct strv *env;		    /* NAME=value, for it alone; NULL = none */
	const char *cwd;		    /* of a command; NULL = none */
	bool restart;			    /* of a cell: on a new interpreter */
	bool interactive;		    /* it may ask: ENDING_WAITING, and run_input() */
	int rows, cols;			    /* of a command that may: its terminal; 0 = 24 and 80 */
	const struct wire_install *install; /* of an install */
};

/* Its number, or 0 with f if it cannot be taken; nobody waits then. */
uint32_t run_start(struct dispatch *d, const struct run_spec *spec, struct run_waiter *w, struct fail *f);
/* Waits for one that nobody waits for. -1 with f: there is none, it was told already, somebody waits, or it is not for this client. */
int run_join(struct dispatch *d, uint64_t number, uint64_t wait_ms, struct run_waiter *w, struct fail *f);
/* Waits for the end of one that nobody waits for, however long that takes. -1: there is none. */
int run_await(struct dispatch *d, uint64_t number, uint64_t timeout_seconds, struct run_waiter *w);
/* Another waits in the place of one who does, and to the end. */
void run_pass(struct run_waiter *from, struct run_waiter *to);
/* Its end is known to somebody who keeps it: PID 1 may forget it. */
void run_told(struct dispatch *d, uint64_t number);
/* 0 if it is this client's; -1 with f if not, or as run_join(). */
int run_check_client(struct dispatch *d, uint64_t number, uint64_t client, struct fail *f);
/* Another call waits for it. */
bool run_is_waited(struct dispatch *d, uint64_t number);
/* Somebody else who uses the session has begun it. */
bool run_is_foreign(struct dispatch *d, uint64_t number, uint64_t client);
bool run_has_ended(struct dispatch *d, uint64_t number);
/* Answers one that may ask and nobody waits for; keys are given by name (manager/line/keys.h). -1 with f if it cannot take it. */
int run_input(struct dispatch *d, uint64_t number, const char *text, size_t n, struct fail *f);
/* What kind a run is that is under way or kept; -1 with f as run_join(). */
int run_kind(struct dispatch *d, uint64_t number, enum run_kind *ret, struct fail *f);
/* How a run stands. */
struct run_state {
	uint32_t number;
	enum run_kind kind;
	bool ended;  /* and its end was not told yet */
	bool waited; /* a call waits for it */
	bool begun;
	bool asks; /* it waits for an answer */
	uint64_t age_ms;
};
/* All of them, by number; the caller frees the vector. */
struct run_state *runs_list(const struct dispatch *d, size_t *ret_n);
/* Asks for its end; whoever waits for it, or comes next, is told. */
void run_interrupt(struct dispatch *d, uint64_t number);
/* The client has gone: what it has begun is interrupted, and its end told to nobody. */
void runs_end_client(struct dispatch *d, uint64_t client);
/* The waiter has lost interest: the run goes on, and is kept. */
void run_leave(struct run_waiter *w);
/* Likewise, but the run is interrupted and its end told to nobody. */
void run_abandon(struct run_waiter *w);

/* --- for the line ---------------------------------------------------------------------------------------------- */
/* What a worker has to do with a frame before runs_frame() takes it; NULL = nothing. See collect_prepare(). */
struct prepared *runs_prepare(struct dispatch *d, const struct wire_frame *frame);
/* It is done: takes it. The same frame follows. */
void runs_take_prepared(struct dispatch *d, uint32_t call, struct prepared *p);
/* A frame of a call that is no transfer's. 0, or negative if PID 1 broke the protocol. */
int runs_frame(struct dispatch *d, const struct wire_frame *frame);
/* After the first hello of all: what a former server has left, and PID 1 will replay. */
void runs_inherit(struct dispatch *d, const struct wire_hello *hello);
/* After a hello: PID 1 replays what it knows; what it never heard of is sent again. */
void runs_resume(struct dispatch *d, uint32_t last_known);
/* Ends all that somebody waits for, with what has come so far and a cause of ours. */
void runs_cut(struct dispatch *d, enum ending ending, const struct fail *why);
/* Drops all without an answer. */
void runs_release(struct dispatch *d);
/* Something runs, of ours or of a former server. */
bool runs_busy(const struct dispatch *d);

#endif
