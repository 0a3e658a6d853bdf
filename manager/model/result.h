/* What one execution left behind: plain data, built by the manager from the frames of PID 1. Everything in it is valid
 * UTF-8 without NULs and already cut to the MAX_* settings. */
#ifndef HUSK_MANAGER_MODEL_RESULT_H
#define HUSK_MANAGER_MODEL_RESULT_H

#include "manager/model/cause.h"

/* What ran. Installs never leave the manager. */
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
	/* Not ends: what there is so far of a run that goes on. */
	ENDING_RUNNING,
	ENDING_WAITING, /* for an answer to what it asks */
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

/* A display at the moment that it comes, for who is shown them. */
struct shown_display {
	bool clear; /* what the run has shown so far goes; nothing else is set */
	const struct mime_bundle *bundle;
	const char *id; /* by which it can be updated; NULL = by none */
	bool update;	/* in the place of all that have this id, also of those of earlier runs */
};

/* What a run left, piece by piece, in the order it was produced. */
enum part_kind { PART_STDOUT, PART_STDERR, PART_DISPLAY, PART_RESULT, PART_ERROR, PART_GAP };

struct run_part {
	enum part_kind kind;
	char *text;	/* of a stream: what a terminal shows in the end, not empty. NULL otherwise */
	size_t display; /* which of the displays it is */
	uint64_t bytes; /* of a gap: what was written there and is missing */
};

struct earlier_result;

struct run_result {
	enum ending ending;
	uint64_t run;		/* its number in the session */
	uint64_t behind;	/* the run that it had to wait for, if nobody waits for that one; 0 = none */
	bool behind_asks;	/* that run waits for input */
	bool queued;		/* it has not begun yet */
	char *prompt;		/* of ENDING_WAITING: what it asks; may be empty */
	bool password;		/* likewise: it does not show what is typed */
	enum cause cause;	/* of an ending that the manager decided on; CAUSE_NONE if it came from PID 1 */
	char *detail;		/* one sentence: what happened and what is left; NULL if there is nothing to say */
	struct run_part *parts; /* everything below in one order; result and error at most once */
	size_t n_parts;
	char *stdout_text; /* each stream for itself; never NULL */
	char *stderr_text;
	uint64_t stdout_bytes; /* what the program wrote */
	uint64_t stderr_bytes;
	bool stdout_truncated;
	bool stderr_truncated;
	uint32_t
		kept_run; /* the number of the run whose full text is in a file of the session (~/.husk/runs/N.txt); 0 = none */
	bool kept_whole; /* all of it, up to the last byte */
	char *raw;	 /* of a command at a terminal, until that has shown it; NULL otherwise */
	size_t raw_len;
	struct mime_bundle result; /* value of the last expression; n == 0 if there was none */
	char *error_type;	   /* NULL if the cell raised nothing */
	char *error_message;
	char *error_traceback;
	struct mime_bundle *displays;
	size_t n_displays;
	uint64_t displays_dropped;
	bool has_exit_code; /* commands, and kernels that died by exit */
	int exit_code;
	int signal; /* 0 = none */
	uint64_t duration_ms;
	uint64_t memory_peak;  /* 0 = not known */
	uint64_t memory_limit; /* 0 = not known */
	uint64_t memory_files; /* tmpfs share of the memory, 0 = not known */
	bool offline;	       /* the session has no network */
	uint64_t oom_kills;    /* processes that the kernel killed for memory during the run */
	bool kernel_restarted; /* variables are gone, files are kept */
	char *lost;	       /* variables that went with an interpreter, as far as they were known; NULL = none */
	bool kernel_gone;      /* the session has ended, and everything in it */
	char *notice;	       /* how long the session still has, where that is not long; NULL otherwise */
	/* Runs that nobody waits for, by number: those that have ended since, and those that have not. */
	struct earlier_result *earlier;
	size_t n_earlier;
};

/* A run that nobody waits for: a former server's, or one whose caller did not wait for its end. */
struct earlier_result {
	uint64_t seq;
	enum run_kind kind;
	bool ended;  /* false: it is still running, and will be reported again */
	bool asks;   /* it waits for an answer */
	bool queued; /* it has not begun */
	uint64_t age_ms;
	struct run_result result;
};

/* Appends to the parts. The text is taken; an empty one adds nothing, and one of the same stream as the last part joins it. */
void run_result_add_text(struct run_result *r, enum part_kind stream, char *text);
void run_result_add_part(struct run_result *r, struct run_part part);

/* About how many bytes there are in its texts and displays, earlier runs included. */
size_t run_result_weight(const struct run_result *r);
#define RUN_RESULT_HEAVY (256u << 10)

void mime_bundle_release(struct mime_bundle *b);
void mime_bundle_copy(struct mime_bundle *ret, const struct mime_bundle *b);
void run_result_release(struct run_result *r);
/* Adds a later piece of the same run, which is emptied: texts and displays follow, everything else is the later one's. */
void run_result_append(struct run_result *r, struct run_result *more);

#endif
