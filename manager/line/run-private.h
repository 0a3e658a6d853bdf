/* A run, as run.c, waiters.c and questions.c share it. */
#ifndef HUSK_MANAGER_LINE_RUN_PRIVATE_H
#define HUSK_MANAGER_LINE_RUN_PRIVATE_H

#include "manager/line/parts.h"
#include "manager/line/run.h"
#include "manager/line/vt.h"

enum patience {
	TO_THE_END, /* the timer is the guard */
	UNTIL_BEGUN, /* behind a run that nobody waits for: when the timer fires and it has not begun, the caller is told */
	FOR_A_WHILE, /* the timer is the caller's */
};

/* What a run that may ask is asking. */
struct run_question {
	bool may_ask;
	bool begun; /* as PID 1 says */
	bool asked, password;
	bool told;	   /* somebody knows that it asks */
	char *prompt;	   /* NULL = what it has written says it */
	uint32_t inputs;   /* the number of the last one that was sent */
	struct buf typed;  /* the frames of those that PID 1 may not have got */
	struct vt *screen; /* of a command */
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
	uint64_t guest;	    /* whose it is; 0 = the conversation's */
	bool sent;	    /* on whichever connection: from then on it may have run */
	bool abandoned;	    /* the end is acknowledged and nobody is told */
	bool held;	    /* its end was told, and is acknowledged by run_told() */
	bool ended;	    /* its end is in `result` */
	bool taking;	    /* PID 1 was asked for what there is so far */
	bool after_kept;    /* when it was sent, one was kept, or old, that it might have to wait for */
	bool beside;	    /* a command that has left the queue */
	bool unseen;	    /* whoever waits has to be shown what came before it did */
	uint32_t told;	    /* the last mark that somebody was told of */
	uint64_t asked_ms;  /* when PID 1 was asked for a sign of life, since its end is late; 0 = not yet */
	struct buf request; /* the frame that starts it, sent again if a broken connection swallowed it */
	struct collect *collect;
	struct timer *timer;
	struct run_question question;
	struct run_result
		result; /* pieces that PID 1 has marked off and nobody was told of; all of it once it has ended */
};

/* The line's own list, by number; NULL if there is none. */
struct run *run_find(struct dispatch *c, uint64_t call);
/* One that somebody can be told of; NULL with f if there is none. */
struct run *run_find_kept(struct dispatch *c, uint64_t number, struct fail *f);
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

void question_begin(struct run *run, const struct run_spec *spec);
void question_release(struct run_question *q);
/* From an ASK, a CALL or a MARK. */
void question_read(struct run *run, const struct wire_frame *frame);
/* Whoever waits is to hear of it now. */
bool question_is_due(const struct run *run);
/* What a terminal shows of a result that is about to be told. */
void question_show(struct run *run, struct run_result *result);
/* What it asks, if it does. */
void question_tell(struct run *run, struct run_result *result);
/* After a replay: PID 1 takes each input once. */
void question_resume(struct run *run);

#endif
