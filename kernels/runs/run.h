/* A run: a cell, a shell command or an install that the manager has requested. It keeps everything that the manager
 * must see as a log of complete frames until the manager acknowledges the END. The log is both the send queue and the
 * replay after a broken stream, so a stalled manager costs no further memory.
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

/* Bytes of displays of all runs that wait for an ACK; further displays are counted and dropped. */
#define RUNS_DISPLAY_BYTES_MAX (64u << 20)
/* Output bytes that all runs together may keep for an ACK. Beyond this each further run is cut to RUN_OUTPUT_MIN
 * per stream: PID 1 shares the container's memory, and must not become the largest process in it. */
#define RUNS_OUTPUT_BYTES_MAX (64u << 20)
#define RUN_OUTPUT_MIN (16u << 10)
#define PROGRESS_INTERVAL_MS 500
#define PROGRESS_TAIL_MAX 1024

enum run_kind { RUN_EXECUTE, RUN_TERMINAL, RUN_INSTALL };
enum run_state { RUN_QUEUED, RUN_RUNNING, RUN_ENDED };
enum run_stream { RUN_STDOUT, RUN_STDERR, RUN_STREAMS };

struct runs {
	struct list list; /* by number, which only increases */
	size_t count;
	uint32_t last_number;
	size_t display_bytes;
	const struct limits *limits; /* may be NULL */
	struct keeps keeps;
	void (*on_ending)(struct runs *all); /* before each END: what belongs to its run is sent; may be NULL */
};

/* The last update of a display: a newer one takes its place in the log. */
struct run_update {
	char *id;
	size_t at, size; /* of its frame in the log */
};

/* The current prompt of an interactive run. */
struct run_prompt {
	bool open;	/* the run waits for an answer */
	bool password;	/* the answer must not be shown */
	char *prompt;	/* NULL = the prompt is in the output */
	json_int_t id;	/* the kernel's number for the prompt; 0 for a command */
	uint32_t taken; /* number of the last INPUT */
};

struct run {
	struct list node;
	struct runs *runs;
	uint32_t number;
	enum run_kind kind;
	enum run_state state;
	uint32_t kernel; /* cell: the number of its kernel; 0 = not known yet */
	char *text;	 /* code, command, or the packages as JSON; NULL once the run has ended */
	size_t text_len;
	char *branch;	     /* cell: the name of its branch; NULL = the main kernel */
	bool restart;	     /* cell: start on a new kernel */
	bool first;	     /* goes before the queue, as a restart does */
	struct strv env;     /* in addition to the process's own; freed at the end */
	char *cwd;	     /* command: its directory; NULL = that of the last command */
	bool interactive;    /* it may prompt for input */
	char *by;	     /* the program that started it, for the next manager; NULL = unknown */
	bool detached;	     /* likewise: nobody waits for it */
	uint16_t rows, cols; /* interactive command: size of its terminal */
	uint64_t size_limit; /* install: maximum size in bytes; 0 = any */
	struct strv direct;  /* install: hosts that are never reached through a proxy */
	uint64_t timeout_ms;
	uint64_t started_ms;
	uint64_t oom_kills_before;

	struct capture streams[RUN_STREAMS];
	struct tail tail;
	uint64_t keep_over; /* bytes of text beyond which all of it is also kept in a file; 0 = never */
	uint64_t text_bytes;
	struct keep keep;
	bool clears; /* the next output replaces the output so far */
	struct run_update updates[CALL_DISPLAYS_MAX];
	size_t n_updates;
	uint64_t late_dropped; /* dropped output between the last run and this one */
	unsigned displays;
	unsigned displays_dropped;
	size_t display_bytes;

	struct buf log;	   /* whole frames */
	size_t last_frame; /* start of the last one */
	size_t sent;	   /* bytes that the current controller has received */
	size_t claimed;	   /* bytes of whole frames that the sender has started on; sent <= claimed */
	bool prompt_due;   /* a PROMPT frame is due */
	bool replay;	   /* a CALL frame must come before the log */
	bool acked;	   /* freed by the sender once claimed bytes are sent */

	uint32_t marks;	 /* number of marks so far */
	uint32_t told;	 /* the highest mark that the manager has reported: the log begins after it */
	size_t mark_end; /* end of the last mark in the log */
	bool aside;	 /* no client waits for it: given a free slot, no run has to wait for it either */
	bool beside;	 /* it has left the queue */
	uint32_t behind; /* the run that it had to wait for, if any */

	struct run_prompt prompt;

	uint64_t progress_ms;
	uint64_t progress_bytes;
};

/* How a run ended. Strings are borrowed. */
struct run_ending {
	const char *ending;
	bool has_exit_code;
	int exit_code;
	int signo;	    /* 0 = none */
	const char *kernel; /* NULL = not about a kernel */
	const char *detail; /* NULL = nothing to add */
	const char *cause;  /* one word that the manager can act on; NULL = none */
	json_t *lost;	    /* variables that were lost with a kernel; borrowed, NULL = none known */
	json_t *restored;   /* the checkpoint that took the place of a kernel; borrowed, NULL = none */
};

void runs_init(struct runs *c, const struct limits *limits);
void runs_release(struct runs *c);
struct run *runs_find(struct runs *c, uint32_t number);
/* The first queued run of a kind, or NULL. A cell must be for this kernel. */
struct run *runs_next(struct runs *c, enum run_kind kind, uint32_t kernel);
/* Drops the log up to this mark, which has been reported; any mark but the last is ignored. */
void run_ack_mark(struct run *c, uint32_t mark);
/* Frees an ended run; ignores unknown numbers and runs that have not ended. */
void runs_ack(struct runs *c, uint32_t number);
/* A new controller starts at the beginning of every log. */
void runs_rewind(struct runs *c);

void run_start(struct run *c);
/* Puts all output so far into the log, followed by a MARK. */
void run_mark(struct run *c);
/* The run waits for an answer from now on, and the manager is notified. `prompt` (valid UTF-8, n bytes) may be
 * NULL. */
void run_prompt_start(struct run *c, const char *prompt, size_t n, bool password, json_int_t id);
/* The run no longer waits. */
void run_prompt_end(struct run *c);
/* Adds the state of the run, and its prompt if it is interactive, to a CALL, MARK or PROMPT. */
void run_add_state(const struct run *c, json_t *to);
void run_output(struct run *c, enum run_stream stream, const void *data, size_t n);
/* Adds a DISPLAY, RESULT or ERROR frame with a payload that is valid JSON. Displays and results beyond a limit are only
 * counted. */
void run_structured(struct run *c, enum frame_type type, const void *json, size_t n);
/* Adds a DISPLAY frame. An update replaces the previous one of the same display. */
void run_display(struct run *c, const void *json, size_t n, const char *display_id, bool update);
/* Drops the output and displays so far: now, or with the next output. */
void run_clear(struct run *c, bool wait);
/* Call exactly once. Appends tails and END. */
void run_end(struct run *c, const struct run_ending *e);
struct run *run_free(struct run *c);
/* Sizes the ring for output after the heads: half of each stream's limit. */
void run_size_tail(struct run *c);

/* True if a PROGRESS frame is due; fills its payload (a new reference) and records the time. */
bool run_progress(struct run *c, uint64_t now_ms, json_t **ret);
const char *run_kind_name(enum run_kind kind);

#endif
