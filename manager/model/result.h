/* The result of one run: plain data that the manager builds from PID 1's frames. All text is valid UTF-8 without
 * NULs and already cut to the MAX_* settings. */
#ifndef HUSK_MANAGER_MODEL_RESULT_H
#define HUSK_MANAGER_MODEL_RESULT_H

#include "manager/model/cause.h"
#include "manager/model/checkpoint.h"

/* The kind of run. Only the manager itself sees installs. */
enum run_kind { RUN_CODE, RUN_TERMINAL, RUN_INSTALL };

enum ending {
	ENDING_OK,
	ENDING_ERROR, /* the cell raised, or the command's exit code is not 0 */
	ENDING_TIMEOUT,
	ENDING_INTERRUPTED,
	ENDING_OOM,
	ENDING_KERNEL_DIED,
	ENDING_CONTAINER_DIED,
	ENDING_SESSION_LOST,
	/* Not ends, but states of a run that has not ended: */
	ENDING_RUNNING,
	ENDING_WAITING, /* waits for the answer to a prompt */
};

/* "ok", "error", "timeout", … as results name them. */
const char *ending_name(enum ending ending);

struct mime_part {
	char *type; /* "image/png", lower case */
	char *data; /* text, or base64 for binary types; JSON types hold their serialised value */
	size_t len;
};

struct mime_bundle {
	struct mime_part *parts;
	size_t n;
};

/* A display at the moment it arrives, for live viewers. */
struct shown_display {
	bool clear; /* clears what the run has shown so far; nothing else is set */
	const struct mime_bundle *bundle;
	const char *id; /* id for later updates; NULL = none */
	bool update;	/* replaces all displays with this id, including those of earlier runs */
};

/* The output of a run, piece by piece, in the order it was produced. */
enum part_kind { PART_STDOUT, PART_STDERR, PART_DISPLAY, PART_RESULT, PART_ERROR, PART_GAP };

struct run_part {
	enum part_kind kind;
	char *text;	/* stream: the text as a terminal finally shows it, not empty; NULL otherwise */
	size_t display; /* index of the display */
	uint64_t bytes; /* gap: number of bytes that were written here and are missing */
};

struct earlier_result;

struct run_result {
	enum ending ending;
	uint64_t run;			  /* its number in the session */
	char branch[BRANCH_NAME_MAX + 1]; /* of the interpreter that ran it; "" = the main one */
	uint64_t behind;		  /* the run without a waiter that it had to wait for; 0 = none */
	bool behind_prompts;		  /* that run waits for input */
	bool queued;			  /* it is still queued */
	char *prompt;			  /* ENDING_WAITING: the prompt; may be empty */
	bool password;			  /* ENDING_WAITING: input is not echoed */
	enum cause cause;	/* cause of an ending that the manager decided; CAUSE_NONE if it came from PID 1 */
	char *detail;		/* one sentence: what happened and what is left; NULL if there is nothing to say */
	struct run_part *parts; /* everything below, in the order it was produced; result and error at most once */
	size_t n_parts;
	char *stdout_text; /* each stream separately; never NULL */
	char *stderr_text;
	uint64_t stdout_bytes; /* bytes that the program wrote */
	uint64_t stderr_bytes;
	bool stdout_truncated;
	bool stderr_truncated;
	uint32_t kept_run; /* number N of the run whose full text is in the session's ~/.husk/runs/N.txt; 0 = none */
	bool kept_whole;   /* that file is complete */
	char *raw;	   /* output of a command at a terminal, before the emulator has rendered it; NULL otherwise */
	size_t raw_len;
	struct mime_bundle result; /* value of the last expression; n == 0 if there was none */
	char *error_type;	   /* NULL if the cell raised nothing */
	char *error_message;
	char *error_traceback;
	struct mime_bundle *displays;
	size_t n_displays;
	uint64_t displays_dropped;
	bool has_exit_code; /* for commands, cells that called exit, and kernels that exited */
	int exit_code;
	int signal; /* 0 = none */
	uint64_t duration_ms;
	uint64_t memory_peak;	   /* 0 = unknown */
	uint64_t memory_limit;	   /* 0 = unknown */
	uint64_t memory_files;	   /* tmpfs share of the memory, 0 = unknown */
	bool offline;		   /* the session has no network */
	uint64_t oom_kills;	   /* processes that the kernel killed for memory during the run */
	bool kernel_restarted;	   /* variables are lost, files are kept */
	char *lost;		   /* known variables that were lost with an interpreter; NULL = none */
	struct restored *restored; /* a checkpoint took the place of the interpreter; NULL = none did */
	bool kernel_gone;	   /* the session has ended with everything in it */
	char *notice; /* connections that the gate refused, and the time left if it is little; NULL = none */
	/* Runs without a waiter, by number: those that have ended since the last report, and those that have
	 * not. */
	struct earlier_result *earlier;
	size_t n_earlier;
};

/* A run without a waiter: a former server's, or one whose caller did not wait for its end. */
struct earlier_result {
	uint64_t seq;
	enum run_kind kind;
	bool ended;	      /* false: still running, and will be reported again */
	bool waits_for_input; /* it has an open prompt */
	bool queued;	      /* it is still queued */
	bool queue_reported;  /* an earlier result already reported that it is queued */
	uint64_t age_ms;
	struct run_result result;
};

/* Appends text to the parts and takes ownership of it. An empty text adds nothing, and text of the same stream as
 * the last part is joined to that part. */
void run_result_add_text(struct run_result *r, enum part_kind stream, char *text);
void run_result_add_part(struct run_result *r, struct run_part part);

/* Approximate size of the result's texts and displays, including earlier runs. */
size_t run_result_weight(const struct run_result *r);
#define RUN_RESULT_HEAVY (256u << 10)

/* Words the error of a run that timed out as the reference implementation does. 0 seconds = unknown. */
void run_result_name_timeout(struct run_result *r, uint64_t timeout_seconds);

void mime_bundle_release(struct mime_bundle *b);
void mime_bundle_copy(struct mime_bundle *ret, const struct mime_bundle *b);
void run_result_release(struct run_result *r);
/* Adds `more`, a later piece of the same run, and empties it. Texts and displays are appended; everything else is
 * replaced. */
void run_result_append(struct run_result *r, struct run_result *more);

#endif
