/* struct run, shared by run.c, run-live.c, run-prompt.c and waiters.c. */
#ifndef HUSK_MANAGER_LINE_RUN_PRIVATE_H
#define HUSK_MANAGER_LINE_RUN_PRIVATE_H

#include "manager/line/emulator.h"
#include "manager/line/run-output.h"
#include "manager/line/run.h"

enum patience {
	TO_THE_END,  /* waits for the end; run_guard() sets the timer */
	UNTIL_BEGUN, /* queued behind a kept run; if it has not begun when the timer fires, the caller gets an answer */
	FOR_A_WHILE, /* the timer ends the caller's wait */
};

/* Prompt state of an interactive run. */
struct run_prompt {
	bool may_prompt;
	bool begun; /* according to PID 1 */
	bool open, password;
	bool told;	  /* the prompt has been reported */
	char *prompt;	  /* NULL = the output contains the prompt */
	uint32_t inputs;  /* number of the last input sent */
	struct buf typed; /* input frames that PID 1 may not have received */
	/* Terminal of a command. The output is fed to it when a result is about to be reported. The result then
	 * holds the text that it has shown since the last report. */
	struct emulator *screen;
	bool unsettled;	       /* the screen was fed bytes that PID 1 would replay */
	size_t feeding;	       /* bytes of the result that the screen is being fed */
	char *line;	       /* where a user would type, as last shown */
	bool application_keys; /* as last shown */
};

#define TELLING_END UINT32_MAX

struct run {
	struct list node;
	struct dispatch *dispatch;
	uint32_t call;
	enum run_kind kind;
	char branch[BRANCH_NAME_MAX + 1]; /* of its interpreter; "" = the main one */
	uint64_t timeout_seconds;	  /* 0 = unknown, started by an earlier server */
	uint64_t started_ms;
	uint64_t began_ms;	   /* when it became the first of its kind, about when PID 1 started it; 0 = not yet */
	struct run_waiter *waiter; /* NULL = kept or abandoned */
	enum patience patience;
	uint32_t telling;    /* the mark up to which to report once screens are drawn, or TELLING_END; 0 = none */
	uint64_t client;     /* its owner; 0 = the conversation */
	bool detached;	     /* results of other runs do not report it */
	bool sent;	     /* sent on some connection, so it may have run */
	bool abandoned;	     /* its end is acknowledged but not reported */
	bool held;	     /* its end was reported; run_acknowledge() acknowledges it */
	bool ended;	     /* its end is in `result` */
	bool taking;	     /* PID 1 was asked for the output so far */
	bool after_kept;     /* a kept or old run was ahead of it when it was sent */
	bool beside;	     /* a command that left the queue, so the next one need not wait for it */
	bool queue_reported; /* the result of another run reported that this one is queued */
	bool unseen;	     /* the waiter must first be shown the output from before it joined */
	uint32_t told;	     /* the last mark that was reported */
	uint64_t pinged_ms;  /* when PID 1 was asked for a sign of life because the end is late; 0 = not yet */
	struct buf request;  /* the frame that starts it, sent again if a broken connection lost it */
	struct collect *collect;
	struct record *record; /* NULL = not recorded, or its end is */
	bool inherited;	       /* of an earlier server; its replay has not arrived yet */
	struct timer *timer;
	struct run_prompt prompt;
	struct run_result result; /* pieces up to the last mark, or to the end, that were not reported yet */
};

/* Finds a run by number; NULL if there is none. */
struct run *run_find(struct dispatch *d, uint64_t call);
/* Finds a run whose state can be reported; NULL with f if there is none. */
struct run *run_find_kept(struct dispatch *d, uint64_t number, struct fail *f);
struct run *run_new(struct dispatch *d, uint32_t call, enum run_kind kind);
void run_free(struct run *run);
void run_send(struct run *run);
/* True if the run has taken so long that its caller may have given up: clients have their own time limits and do
 * not always cancel. */
bool run_is_old(const struct run *run);
/* Tells the waiter that the run continues, but keeps the output for a later answer. */
void run_answer_empty(struct run *run);
/* Removes and returns the waiter; NULL if there is none. */
struct run_waiter *run_take_waiter(struct run *run);
/* Called when the terminal has shown more of the result. */
void run_shown(struct run *run);
/* From now on the waiter waits for the end. The timer guards against a PID 1 that does not report it. */
void run_guard(struct run *run);

/* Branches. The name is not too long afterwards; -1 with f. */
int run_check_branch(const struct dispatch *d, const struct run_spec *spec, struct fail *f);
/* An earlier run of its kind, and of its branch if it is a cell, has not ended. */
bool run_is_behind(const struct run *run);

/* Passes an output frame on to the waiter. */
void run_show_output(struct run *run, const struct wire_frame *frame);
/* Called before this frame is shown: first shows a new waiter the output from before it joined, unless the frame
 * starts a replay. */
void run_catch_up(struct run *run, const struct wire_frame *frame);
/* Announces a replay to the waiter, before the collected output is discarded. */
void run_tell_replay(struct run *run);

/* The record of a run; see recorder.h. Each function does nothing if the run is not recorded. */
void run_record_begin(struct run *run, const struct run_spec *spec);
/* PID 1's hello names a run of an earlier server. */
void run_record_inherit(struct run *run);
/* A CALL frame, before the run begins again. */
void run_record_replay(struct run *run, const struct wire_call *call);
void run_record_start(struct run *run);
void run_record_frame(struct run *run, const struct wire_frame *frame);
void run_record_piece(struct run *run, const struct run_result *piece);
void run_record_mark(struct run *run, uint32_t mark);
void run_record_prompt(struct run *run);
void run_record_answer(struct run *run);
void run_record_end(struct run *run, const struct run_result *result, const struct fail *f);

void run_prompt_begin(struct run *run, const struct run_spec *spec);
void run_prompt_release(struct run_prompt *q);
/* Reads the prompt state from a PROMPT, CALL or MARK frame. */
void run_prompt_read(struct run *run, const struct wire_frame *frame);
/* True if the waiter must get the prompt now. */
bool run_prompt_is_due(const struct run *run);
/* Called before the result is reported. True if the terminal has shown all of it; false if it is still drawing,
 * then run_shown() follows. */
bool run_prompt_show(struct run *run);
/* Called when the result is reported. Bytes that were not shown are reported as plain text. */
void run_prompt_settle(struct run *run);
/* Discards the result, and resets the terminal if it was fed parts of it. */
void run_prompt_restart(struct run *run);
/* Adds the prompt to the result, if there is one. */
void run_prompt_tell(struct run *run, struct run_result *result);
/* After a hello, resends inputs that PID 1 may not have received. PID 1 accepts each input once. */
void run_prompt_resume(struct run *run);

#endif
