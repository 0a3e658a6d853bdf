/* A run, as run.c and waiters.c share it. */
#ifndef HUSK_MANAGER_LINE_RUN_PRIVATE_H
#define HUSK_MANAGER_LINE_RUN_PRIVATE_H

#include "manager/line/run.h"

enum patience {
	TO_THE_END, /* the timer is the guard */
	UNTIL_BEGUN, /* behind a run that nobody waits for: when the timer fires and it has not begun, the caller is told */
	FOR_A_WHILE, /* the timer is the caller's */
};

struct run {
	struct list node;
	struct dispatch *dispatch;
	uint32_t call;
	enum run_kind kind;
	uint64_t timeout_seconds; /* 0 = a former server's, not known */
	uint64_t started_ms;
	uint64_t began_ms; /* when it was the first of its kind, about when PID 1 began to run it; 0 = not yet */
	struct run_waiter *waiter; /* NULL = it is kept, or abandoned */
	enum patience patience;
	bool sent;	    /* on whichever connection: from then on it may have run */
	bool abandoned;	    /* the end is acknowledged and nobody is told */
	bool held;	    /* its end was told, and is acknowledged by run_told() */
	bool ended;	    /* its end is in `result` */
	bool taking;	    /* PID 1 was asked for what there is so far */
	bool after_kept;    /* when it was sent, one was kept, or old, that it might have to wait for */
	bool beside;	    /* a command that has left the queue */
	uint32_t told;	    /* the last mark that somebody was told of */
	uint64_t asked_ms;  /* when PID 1 was asked for a sign of life, since its end is late; 0 = not yet */
	struct buf request; /* the frame that starts it, sent again if a broken connection swallowed it */
	struct collect *collect;
	struct timer *timer;
	struct run_result
		result; /* pieces that PID 1 has marked off and nobody was told of; all of it once it has ended */
};

/* The line's own list, by number; NULL if there is none. */
struct run *run_find(struct dispatch *c, uint64_t call);
struct run *run_new(struct dispatch *c, uint32_t call, enum run_kind kind);
void run_free(struct run *run);
void run_send(struct run *run);
/* Clients have time limits of their own and do not always say that they have given up: a run that has taken this long may be one
 * whose answer nobody will read. */
bool run_is_old(const struct run *run);
/* Answers whoever waits that it goes on, and tells nothing of it: that is for somebody else. */
void run_answer_empty(struct run *run);
/* Nobody waits from now on; NULL if nobody did. */
struct run_waiter *run_take_waiter(struct run *run);
/* To its end: from now on the timer is the guard. */
void run_guard(struct run *run);

#endif
