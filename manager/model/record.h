/* Records of runs and events of journals: plain data for readers. */
#ifndef HUSK_MANAGER_MODEL_RECORD_H
#define HUSK_MANAGER_MODEL_RECORD_H

#include "manager/model/result.h"
#include "manager/model/secret.h"

/* --- records of runs ---------------------------------------------------------------------------------------------- */
/* The state of a recorded run. */
enum record_state { RECORD_QUEUED, RECORD_RUNNING, RECORD_WAITING, RECORD_ENDED };
/* "queued", "running", "waiting" (for input), "ended". */
const char *record_state_name(enum record_state state);

/* A record says what a run has produced, also after the run's end and the end of its session. */
struct record_part {
	enum part_kind kind; /* never PART_GAP: `dropped` counts what is missing */
	const char *text;    /* streams: cleaned text as it arrived; never empty. NULL otherwise */
	size_t len;
	const struct mime_bundle *bundle; /* display or result; without parts if it was too large to keep */
	const char *display_id;		  /* id for updates; NULL = none */
	bool update;			  /* replaces a display of an earlier run */
	uint64_t time_ms;
	uint64_t event; /* number of the event that showed it; 0 = a value or an error */
};
struct record_prompt {
	size_t at;	  /* number of parts before it */
	const char *text; /* "" = the output contains the prompt */
	bool password, answered;
	uint64_t time_ms;
};
/* The content of an answer that a model got. */
struct record_answer {
	uint64_t time_ms;
	const char *content; /* a JSON array */
};
struct run_record {
	uint64_t number;
	enum run_kind kind;
	const char *text; /* the code or command; NULL = not kept */
	size_t len;
	const char *by;	    /* the program that started it; NULL = unknown */
	const char *branch; /* of its interpreter; NULL = the main one */
	uint64_t client;    /* as in run_request */
	bool detached;
	enum record_state state;
	uint64_t queued_ms, started_ms, ended_ms; /* wall clock; 0 = not yet, or unknown */
	/* RECORD_ENDED: a name of an ending, "not_run" or "cancelled"; NULL = unknown, or not ended. */
	const char *ending;
	enum cause cause;
	const char *detail; /* a sentence; NULL = none */
	/* How it ended: everything except texts and displays. NULL = not ended, not run, or not kept. */
	const struct run_result *result;
	uint64_t dropped; /* bytes of output that are no longer kept */
	/* The rest is set only by manager_run_record(). */
	const struct record_part *parts; /* what the run has shown since it was last cleared, in order */
	size_t n_parts;
	const struct record_prompt *prompts;
	size_t n_prompts;
	/* If the record comes from the store (HISTORY_KEEPS_CODE): JSON arrays of notebook outputs instead of parts. */
	const char *const *outputs;
	size_t n_outputs;
	const struct record_answer *answers; /* what models were shown, the oldest first */
	size_t n_answers;
	/* All events of the session up to this number are in the record: read the journal after it. 0 = the record
	 * comes from the store. */
	uint64_t journal;
};
/* --- events of journals ------------------------------------------------------------------------------------------- */
enum journal_kind {
	JOURNAL_SESSION_CREATED, /* it has an id and a place in the store; its container starts */
	JOURNAL_SESSION_CLAIMED, /* its container is ready and belongs to it */
	JOURNAL_SESSION_ADOPTED, /* this server took it over from a server that ended */
	JOURNAL_SESSION_ENDED,
	JOURNAL_RUN_QUEUED,
	JOURNAL_RUN_STARTED,
	JOURNAL_RUN_OUTPUT,
	JOURNAL_RUN_DISPLAY,
	JOURNAL_RUN_CLEARED, /* erases what the run has shown so far */
	JOURNAL_RUN_PROMPT,
	JOURNAL_RUN_ANSWERED, /* input was sent; its text is never recorded */
	JOURNAL_RUN_ENDED,
	JOURNAL_FILES_IMPORTED,
	JOURNAL_FILES_EXPORTED,
	JOURNAL_CHECKPOINT_SAVED,    /* on request; automatic ones are not reported */
	JOURNAL_CHECKPOINT_RESTORED, /* by an undo; run.ended has what took the place of a dead interpreter */
	JOURNAL_CHECKPOINT_DROPPED,  /* or a branch */
	JOURNAL_BRANCH_MADE,	     /* one or more, on request; a run also makes the branch that it names */
	JOURNAL_BRANCH_KEPT,
	JOURNAL_NETWORK, /* a connection through the gate has ended, or was refused */
	JOURNAL_LIMIT_REACHED,
	JOURNAL_GAP, /* events are missing here; only readers get it */
};

/* A connection through the gate. Its host and port are the text of the event. */
struct journal_network {
	uint64_t count; /* connections; 0 = the event is about something else */
	uint64_t up, down, duration_ms;
	char secret[SECRET_NAME_MAX + 1]; /* the name of the secret that was used; "" = none */
};

/* "session.created", "run.output", … */
const char *journal_kind_name(enum journal_kind kind);

struct journal_event {
	uint64_t number;   /* rises within the session, also across servers; less than 2^53 */
	uint64_t position; /* rises within this server, over all sessions; less than 2^53 */
	uint64_t time_ms;  /* wall clock */
	enum journal_kind kind;
	const char *session_id, *conversation;
	/* The run of a run.* or limit.reached event; 0 = none. */
	uint64_t run;
	enum run_kind run_kind;
	const char *by;	    /* NULL = unknown */
	const char *branch; /* of its interpreter; NULL = the main one */
	bool detached;
	/* run.queued: the code (NULL = not kept). run.output: the text. run.prompt: the prompt. files.*: the path in
	 * the session. checkpoint.*: its name; NULL = automatic. limit.reached: memory, time, disk, idle or lifetime.
	 * session.ended: why; NULL = stopped on request. NULL otherwise. */
	const char *text;
	size_t len;
	int stream;			     /* run.output: 1 (stdout) or 2 (stderr) */
	const struct shown_display *display; /* run.display; its bundle has no parts if it was too large to keep */
	bool password;			     /* run.prompt: input is not echoed */
	uint64_t bytes;			     /* files.*: size */
	uint64_t after_run;		     /* checkpoint.*: variables are as they were after this run */
	enum cause cause;		     /* session.ended, run.ended, network.connection */
	struct journal_network network;
	/* run.ended: as in struct run_record. */
	const char *ending, *detail;
	const struct run_result *result;
};
/* A session at the time of a gap. */
struct journal_session {
	const char *session_id, *conversation;
	const char *status;	       /* as in session_info; "ended" = it is gone */
	uint64_t number;	       /* of its last event */
	const struct run_record *runs; /* those that have not ended, without parts */
	size_t n_runs;
};
struct journal_gap {
	/* Read on after these. The sessions below include everything up to them. */
	uint64_t number; /* 0 for a reader of several sessions */
	uint64_t position;
	uint64_t time_ms;
	const struct journal_session *sessions;
	size_t n_sessions;
};

#endif
