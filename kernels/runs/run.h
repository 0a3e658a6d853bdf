/* A run: a cell, a shell command or an install that the manager has asked for. It keeps everything that the
 * manager must see as a log of ready-made frames, until the manager acknowledges the END: the log is at once the send queue and
 * the replay after a broken stream, so a stalled manager costs no memory beyond it.
 *
 * The kernel or terminal that executes a run borrows it; the list owns it. */
#ifndef HUSK_KERNELS_RUNS_RUN_H
#define HUSK_KERNELS_RUNS_RUN_H

#include <jansson.h>

#include "base/list.h"
#include "base/strv.h"
#include "kernels/protocol.h"
#include "kernels/runs/keep.h"
#include "kernels/runs/tail.h"
#include "kernels/system/limits.h"

/* Displays of all calls together that wait for an ACK; past it further ones are counted and dropped. */
#define RUNS_DISPLAY_BYTES_MAX (64u << 20)
/* What all runs together may keep for an ACK in output. Past it each further one is cut to RUN_OUTPUT_MIN a stream: PID 1
 * lives in the sandbox's memory, and must not become the largest process in it. */
#define RUNS_OUTPUT_BYTES_MAX (64u << 20)
#define RUN_OUTPUT_MIN (16u << 10)
#define PROGRESS_INTERVAL_MS 500
#define PROGRESS_TAIL_MAX 1024

enum run_kind { RUN_EXECUTE, RUN_TERMINAL, RUN_INSTALL };
enum run_state { RUN_QUEUED, RUN_RUNNING, RUN_ENDED };
enum run_stream { RUN_STDOUT, RUN_STDERR, RUN_STREAMS };

struct runs {
	struct list list; /* by number, which only rises */
	size_t count;
	uint32_t last_number;
	size_t display_bytes;
	const struct limits *limits; /* may be NULL */
	struct keeps keeps;
};

/* The last update of a display: a newer one takes its place in the log. */
struct run_update {
	char *id;
	size_t at, size; /* of its frame in the log */
};

/* What a run that may ask somebody is asking now. */
struct run_prompt {
	bool asked;	/* it waits for an answer */
	bool password;	/* which is not to be shown */
	char *prompt;	/* NULL = what it has written says it */
	json_int_t id;	/* the kernel's own; 0 for a command */
	uint32_t taken; /* the number of the last INPUT that came */
};

struct run {
	struct list node;
	struct runs *runs;
	uint32_t number;
	enum run_kind kind;
	enum run_state state;
	char *text; /* code, command, or the packages as JSON; NULL once the call has ended */
	size_t text_len;
	bool restart;			  /* of a cell: on a new kernel */
	bool first;			  /* runs before what is queued, as a restart does */
	struct strv env;		  /* beside that of its process; gone once it has ended */
	char *cwd;			  /* of a command: where it starts; NULL = where the last one ended */
	bool interactive;		  /* it may ask for input */
	uint16_t rows, cols;		  /* of a command that may: its terminal */
	uint64_t size_limit;		  /* of an install: bytes that it may leave; 0 = any */
	uint16_t relays[RELAY_PORTS_MAX]; /* of an install: local ports on which its indexes are */
	size_t n_relays;
	uint64_t timeout_ms;
	uint64_t started_ms;
	uint64_t oom_kills_before;

	struct capture streams[RUN_STREAMS];
	struct tail tail;
	uint64_t keep_over; /* bytes of text past which all of it is kept in a file too; 0 = never */
	uint64_t text_bytes;
	struct keep keep;
	bool clears; /* with the next output, what there is goes */
	struct run_update updates[CALL_DISPLAYS_MAX];
	size_t n_updates;
	uint64_t late_dropped; /* output since the last call that was not kept */
	unsigned displays;
	unsigned displays_dropped;
	size_t display_bytes;

	struct buf log;	   /* whole frames */
	size_t last_frame; /* where the last one starts */
	size_t sent;	   /* bytes that the present controller has got */
	size_t claimed;	   /* whole frames that the sender has begun to send; sent <= claimed */
	bool asks;	   /* a PROMPT frame is due */
	bool replay;	   /* a CALL frame must come before the log */
	bool acked;	   /* freed by the sender once claimed bytes are sent */

	uint32_t marks;	 /* made so far */
	uint32_t told;	 /* the highest that the manager has told of: the log begins behind it */
	size_t mark_end; /* where in the log the last one ends */
	bool aside;	 /* nobody waits for it: others need not wait for it either, if there is room */
	bool beside;	 /* it has left the queue */
	uint32_t behind; /* the call that it had to wait for, if any */

	struct run_prompt prompt;

	uint64_t progress_ms;
	uint64_t progress_bytes;
};

/* How a call ended. Strings are borrowed. */
struct run_ending {
	const char *ending;
	bool has_exit_code;
	int exit_code;
	int signo;	    /* 0 = none */
	const char *kernel; /* NULL = not about a kernel */
	const char *detail; /* NULL = nothing to add */
	const char *cause;  /* in one word, for the manager to decide by; NULL = none */
	json_t *lost;	    /* variables that went with a kernel; borrowed, NULL = none are known of */
};

void runs_init(struct runs *c, const struct limits *limits);
void runs_release(struct runs *c);
struct run *runs_find(struct runs *c, uint32_t number);
/* The first queued call of a kind, or NULL. */
struct run *runs_next(struct runs *c, enum run_kind kind);
/* What the log holds up to this mark is told, and dropped; any other mark than the last is left alone. */
void run_told(struct run *c, uint32_t mark);
/* Forgets an ended call; unknown numbers and calls that have not ended are left alone. */
void runs_ack(struct runs *c, uint32_t number);
/* A new controller starts at the beginning of every log. */
void runs_rewind(struct runs *c);

void run_start(struct run *c);
/* Everything that there is so far goes into the log, with a MARK behind it. */
void run_mark(struct run *c);
/* It waits for an answer from now on, and the manager hears of it. `prompt` (valid UTF-8, n bytes) may be NULL. */
void run_prompt_start(struct run *c, const char *prompt, size_t n, bool password, json_int_t id);
/* It no longer does. */
void run_prompt_end(struct run *c);
/* How it stands, for a CALL or a MARK: its state, and of a run that may ask what it asks. */
void run_add_state(const struct run *c, json_t *to);
void run_output(struct run *c, enum run_stream stream, const void *data, size_t n);
/* A DISPLAY, RESULT or ERROR frame with a payload that is valid JSON. Displays and results past a bound are counted. */
void run_structured(struct run *c, enum frame_type type, const void *json, size_t n);
/* A DISPLAY frame. An update takes the place of the one before it of the same display. */
void run_display(struct run *c, const void *json, size_t n, const char *display_id, bool update);
/* What there is (output, displays) counts no longer: now, or with the next output. */
void run_clear(struct run *c, bool wait);
/* Exactly once. Appends tails and END. */
void run_end(struct run *c, const struct run_ending *e);
struct run *run_free(struct run *c);
/* Makes the ring for what comes after the heads as large as the limits allow. */
void run_size_tail(struct run *c);

/* True if a PROGRESS frame is due; fills its payload (a new reference) and notes the time. */
bool run_progress(struct run *c, uint64_t now_ms, json_t **ret);
const char *run_kind_name(enum run_kind kind);

#endif
