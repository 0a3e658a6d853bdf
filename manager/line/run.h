/* One execution on a line: sent immediately (PID 1 keeps the order), collected, and kept until its end has been
 * reported. The line owns it. A run has at most one waiter.
 *
 * A run without a waiter (its wait ended, or an earlier server started it) keeps running and is kept: results of
 * other runs include its state and its end. Only what was reported is acknowledged, so nothing is lost and nothing
 * is reported twice. */
#ifndef HUSK_MANAGER_LINE_RUN_H
#define HUSK_MANAGER_LINE_RUN_H

#include "manager/line/collect.h"
#include "manager/line/dispatch.h"

struct run;

#define RUN_WAIT_FOR_END UINT64_MAX

/* Embedded in its owner. Detached from its run before on_end is called. */
struct run_waiter {
	/* Live output: the head as it arrives, then occasionally the latest bytes. May be NULL. */
	void (*on_output)(struct run_waiter *w, int stream, const void *data, size_t n);
	/* The last bytes of a stream that is longer than its head. May be NULL. */
	void (*on_tail)(struct run_waiter *w, int stream, const void *data, size_t n);
	/* A display, as it arrives. If this is set, output after the head is reported only by on_tail, at the end.
	 * May be NULL. */
	void (*on_display)(struct run_waiter *w, const struct shown_display *display);
	/* PID 1 replays the run: all output since the last report follows again. `displays` is the number of
	 * displays shown before, without updates. May be NULL. */
	void (*on_replay)(struct run_waiter *w, size_t displays);
	/* Called once, with everything since the last report: when the run has ended, or when the wait is over
	 * (ENDING_RUNNING or ENDING_WAITING). In the second case the run continues and is kept. If nothing ran, f
	 * is set instead. The owner may change the result, which is released after the call. */
	void (*on_end)(struct run_waiter *w, struct run_result *result, const struct fail *f);
	/* The owner stores the end and then acknowledges it by run_acknowledge(). Until then PID 1 repeats the end on each
	 * new connection, also to the next server. The result does not include other runs. */
	bool holds;
	/* The number of the client that waits, or 0. Results for such a client do not include other runs either. */
	uint64_t client;

	/* Private; NULL = not waiting. */
	struct run *run;
};

struct run_spec {
	enum run_kind kind;
	uint64_t timeout_seconds;
	uint64_t wait_ms; /* or RUN_WAIT_FOR_END */
	const char *text; /* valid UTF-8; for a cell or a command */
	size_t len;
	const struct strv *env;		    /* NAME=value, for this run only; NULL = none */
	const char *cwd;		    /* for a command; NULL = none */
	const char *branch;		    /* for a cell; NULL = the main interpreter */
	bool restart;			    /* for a cell: start a new interpreter */
	bool interactive;		    /* may prompt: see ENDING_WAITING and run_input() */
	int rows, cols;			    /* terminal of an interactive command; 0 = 24 and 80 */
	const struct wire_install *install; /* for an install */
	const char *by;			    /* the program that starts it, for the record; NULL = unknown */
	/* No waiter: the run is kept, and results of other runs do not report it. It is acknowledged when a waiter
	 * has joined it and got its end, or by run_acknowledge(). */
	bool detached;
};

/* Returns the run's number, or 0 with f if it cannot be started; w is then not called. w is NULL for a detached run. */
uint32_t run_start(struct dispatch *d, const struct run_spec *spec, struct run_waiter *w, struct fail *f);
/* Waits for a run without a waiter. -1 with f: unknown number, already reported, has a waiter, or belongs to
 * another client. */
int run_join(struct dispatch *d, uint64_t number, uint64_t wait_ms, struct run_waiter *w, struct fail *f);
/* Waits for the end of a run without a waiter, without a time limit for the wait. -1 if there is no such run. */
int run_await(struct dispatch *d, uint64_t number, uint64_t timeout_seconds, struct run_waiter *w);
/* Replaces a waiter with another, which waits for the end. */
void run_pass(struct run_waiter *from, struct run_waiter *to);
/* Call it when the end is stored or was fetched: PID 1 may then forget the run. Does nothing while a waiter waits. */
void run_acknowledge(struct dispatch *d, uint64_t number);
/* 0 if the run belongs to this client; -1 with f if not, or if the number is unknown or its end already
 * reported. */
int run_check_client(struct dispatch *d, uint64_t number, uint64_t client, struct fail *f);
/* True if it has a waiter that has probably not given up. */
bool run_is_waited(struct dispatch *d, uint64_t number);
/* True if the run exists and was not started by this client. */
bool run_is_foreign(struct dispatch *d, uint64_t number, uint64_t client);
bool run_has_ended(struct dispatch *d, uint64_t number);
/* Sends input to an interactive run without a waiter; keys are given by name (manager/line/keys.h). -1 with f if
 * it cannot accept input. */
int run_input(struct dispatch *d, uint64_t number, const char *text, size_t n, struct fail *f);
/* The kind of a run that is running or kept; -1 with f if the number is unknown or its end already reported. */
int run_kind(struct dispatch *d, uint64_t number, enum run_kind *ret, struct fail *f);
struct run_state {
	uint32_t number;
	enum run_kind kind;
	bool ended;  /* it has ended, but its end was not reported yet */
	bool waited; /* has a waiter */
	bool begun;
	bool waits_for_input; /* it has an open prompt */
	uint64_t age_ms;
};
/* All runs, by number; the caller frees the vector. */
struct run_state *runs_list(const struct dispatch *d, size_t *ret_n);
/* Asks PID 1 to interrupt the run. Its waiter, or the next one, gets the result. */
void run_interrupt(struct dispatch *d, uint64_t number);
/* The client has disconnected: interrupts its runs, whose ends are then not reported. */
void runs_end_client(struct dispatch *d, uint64_t client);
/* Stops waiting. The run continues and is kept. */
void run_leave(struct run_waiter *w);
/* Stops waiting and interrupts the run. Its end is not reported. */
void run_abandon(struct run_waiter *w);

/* --- for the line ---------------------------------------------------------------------------------------------- */
/* Work that a worker must do before runs_frame() gets this frame; NULL = none. See collect_prepare(). */
struct prepared *runs_prepare(struct dispatch *d, const struct wire_frame *frame);
/* Takes the finished work. Call runs_frame() next, with the same frame. */
void runs_take_prepared(struct dispatch *d, uint32_t call, struct prepared *p);
/* Handles a numbered frame that is not for a transfer or console. 0, or negative if PID 1 violated the protocol. */
int runs_frame(struct dispatch *d, const struct wire_frame *frame);
/* After the very first hello: takes over runs of an earlier server, which PID 1 will replay. */
void runs_inherit(struct dispatch *d, const struct wire_hello *hello);
/* After a hello: PID 1 replays the runs it knows; the others are sent again. */
void runs_resume(struct dispatch *d, uint32_t last_known);
/* Ends all runs that have a waiter, with the output so far and the reason `why`. */
void runs_cut(struct dispatch *d, enum ending ending, const struct fail *why);
/* Drops all runs without calling back. */
void runs_release(struct dispatch *d);
/* True if anything runs, started by this server or an earlier one. */
bool runs_busy(const struct dispatch *d);

#endif
