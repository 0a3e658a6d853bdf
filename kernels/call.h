/* One call of the manager (a cell, a shell command or an install) and the list of them. A call keeps everything that the manager
 * must see as a log of ready-made frames, until the manager acknowledges the END: the log is at once the send queue and
 * the replay after a broken stream, so a stalled manager costs no memory beyond it.
 *
 * Who runs a call borrows it; the list owns it. */
#ifndef HUSK_KERNELS_CALL_H
#define HUSK_KERNELS_CALL_H

#include <jansson.h>

#include "base/list.h"
#include "base/strv.h"
#include "kernels/capture.h"
#include "kernels/limits.h"
#include "kernels/protocol.h"

/* Displays of all calls together that wait for an ACK; past it further ones are counted and dropped. */
#define CALLS_DISPLAY_BYTES_MAX (64u << 20)
#define PROGRESS_INTERVAL_MS 500
#define PROGRESS_TAIL_MAX 1024

enum call_kind { CALL_EXECUTE, CALL_TERMINAL, CALL_INSTALL };
enum call_state { CALL_QUEUED, CALL_RUNNING, CALL_ENDED };
enum call_stream { CALL_STDOUT, CALL_STDERR, CALL_STREAMS };

struct calls {
	struct list list; /* by number, which only rises */
	size_t count;
	uint32_t last_number;
	size_t display_bytes;
	const struct limits *limits; /* may be NULL */
};

struct call {
	struct list node;
	struct calls *calls;
	uint32_t number;
	enum call_kind kind;
	enum call_state state;
	char *text; /* code, command, or the packages as JSON; NULL once the call has ended */
	size_t text_len;
	struct strv env;     /* of an install, beside its container's; gone once it has ended */
	uint64_t size_limit; /* of an install: bytes that it may leave; 0 = any */
	uint64_t timeout_ms;
	uint64_t started_ms;
	uint64_t oom_kills_before;

	struct capture streams[CALL_STREAMS];
	enum call_stream wrote_last; /* of those that are past their head */
	uint64_t late_dropped;	     /* output since the last call that was not kept */
	unsigned displays;
	unsigned displays_dropped;
	size_t display_bytes;

	struct buf log;	   /* whole frames */
	size_t last_frame; /* where the last one starts */
	size_t sent;	   /* bytes that the present controller has got */
	size_t claimed;	   /* whole frames that the sender has begun to send; sent <= claimed */
	bool replay;	   /* a CALL frame must come before the log */
	bool acked;	   /* freed by the sender once claimed bytes are sent */

	uint64_t progress_ms;
	uint64_t progress_bytes;
};

/* How a call ended. Strings are borrowed. */
struct ending {
	const char *ending;
	bool has_exit_code;
	int exit_code;
	int signo;	    /* 0 = none */
	const char *kernel; /* NULL = not about a kernel */
	const char *detail; /* NULL = nothing to add */
};

void calls_init(struct calls *c, const struct limits *limits);
void calls_release(struct calls *c);
struct call *calls_find(struct calls *c, uint32_t number);
/* The first queued call of a kind, or NULL. */
struct call *calls_next(struct calls *c, enum call_kind kind);
/* Adds a call from the payload of its frame, which must be a JSON object (-EPROTO otherwise). 0 and *ret; 1 if the
 * number is known already (a resend, nothing to do). A call with a bad field is added as one that has ended `refused`.
 * -EBUSY, with *ret untouched, if CALLS_MAX wait for an ACK. */
int calls_add(struct calls *c, uint32_t number, enum call_kind kind, const void *payload, size_t n, struct call **ret);
/* Forgets an ended call; unknown numbers and calls that have not ended are left alone. */
void calls_ack(struct calls *c, uint32_t number);
/* A new controller starts at the beginning of every log. */
void calls_rewind(struct calls *c);

void call_start(struct call *c);
void call_output(struct call *c, enum call_stream stream, const void *data, size_t n);
/* A DISPLAY, RESULT or ERROR frame with a payload that is valid JSON. Displays and results past a bound are counted. */
void call_structured(struct call *c, enum frame_type type, const void *json, size_t n);
/* OOM kills in the container since the call started. */
uint64_t call_oom_kills(const struct call *c);
/* Exactly once. Appends tails and END. */
void call_end(struct call *c, const struct ending *e);
struct call *call_free(struct call *c);

/* True if a PROGRESS frame is due; fills its payload (a new reference) and notes the time. */
bool call_progress(struct call *c, uint64_t now_ms, json_t **ret);
const char *call_kind_name(enum call_kind kind);
const char *call_state_name(enum call_state state);

#endif
