/* A run, as run.c, run-live.c, waiters.c and questions.c share it. */
#ifndef HUSK_MANAGER_LINE_RUN_PRIVATE_H
#define HUSK_MANAGER_LINE_RUN_PRIVATE_H

#include "manager/line/emulator.h"
#include "manager/line/run-output.h"
#include "manager/line/run.h"

enum patience {
	TO_THE_END, /* the timer is the guard */
	UNTIL_BEGUN, /* behind a run that nobody waits for: when the timer fires and it has not begun, the caller is told */
	FOR_A_WHILE, /* the timer is the caller's */
};

/* What a run that may ask is asking. */
struct run_prompt {
	bool may_prompt;
	bool begun; /* as PID 1 says */
	bool asked, password;
	bool told;	  /* somebody knows that it asks */
	char *prompt;	  /* NULL = what it has written says it */
	uint32_t inputs;  /* the number of the last one that was sent */
	struct buf typed; /* the frames of those that PID 1 may not have got */
	/* Of a command. It is fed when somebody is to be told. What it has shown and nobody was told of yet is in the result. */
	struct emulator *screen;
	bool unsettled;	       /* it was fed bytes that PID 1 would replay */
	size_t feeding;	       /* so many bytes of the result's it is being fed */
	char *line;	       /* on which somebody would type, as it was shown last */
	bool application_keys; /* likewise */
};

#define TELLING_END UINT32_MAX

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
	uint32_t telling;   /* once screens are drawn: up to this mark; TELLING_END = its end */
	uint64_t client;    /* whose it is; 0 = the conversation's */
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
	struct run_prompt prompt;
	struct run_result
		result; /* pieces that PID 1 has marked off and nobody was told of; all of it once it has ended */
};

/* The line's own list, by number; NULL if there is none. */
struct run *run_find(struct dispatch *d, uint64_t call);
/* One that somebody can be told of; NULL with f if there is none. */
struct run *run_find_kept(struct dispatch *d, uint64_t number, struct fail *f);
struct run *run_new(struct dispatch *d, uint32_t call, enum run_kind kind);
void run_free(struct run *run);
void run_send(struct run *run);
/* Clients have time limits of their own and do not always say that they have given up: a run that has taken this long may be one
 * whose answer nobody will read. */
bool run_is_old(const struct run *run);
/* Answers whoever waits that it goes on, and tells nothing of it: that is for somebody else. */
void run_answer_empty(struct run *run);
/* Nobody waits from now on; NULL if nobody did. */
struct run_waiter *run_take_waiter(struct run *run);
/* Its terminal has shown more of its result. */
void run_shown(struct run *run);
/* To its end: from now on the timer is the guard. */
void run_guard(struct run *run);

/* Passes a frame of output on to whoever waits. */
void run_show_output(struct run *run, const struct wire_frame *frame);
/* What came while nobody waited, before the frame; a replay brings it anyway. */
void run_catch_up(struct run *run, const struct wire_frame *frame);
/* All comes again; before what was collected is forgotten. */
void run_tell_replay(struct run *run);

void run_prompt_begin(struct run *run, const struct run_spec *spec);
void run_prompt_release(struct run_prompt *q);
/* From a PROMPT, a CALL or a MARK. */
void run_prompt_read(struct run *run, const struct wire_frame *frame);
/* Whoever waits is to hear of it now. */
bool run_prompt_is_due(const struct run *run);
/* The result is about to be told. True if a terminal has shown all of it; false if that takes a while: run_shown() follows. */
bool run_prompt_show(struct run *run);
/* It is told now: what was not shown is told as plain text. */
void run_prompt_settle(struct run *run);
/* What the result has is void, and what the terminal was fed of it. */
void run_prompt_restart(struct run *run);
/* What it asks, if it does. */
void run_prompt_tell(struct run *run, struct run_result *result);
/* After a replay: PID 1 takes each input once. */
void run_prompt_resume(struct run *run);

#endif
