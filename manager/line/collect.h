/* Turns the frames of one run into a run_result: accumulated, bounded, cleaned, and cut to the MAX_* settings. */
#ifndef HUSK_MANAGER_LINE_COLLECT_H
#define HUSK_MANAGER_LINE_COLLECT_H

#include "base/buf.h"
#include "manager/line/wire.h"
#include "manager/model/config.h"
#include "manager/model/result.h"

struct collect;

/* config supplies the limits and must outlive the collector. */
struct collect *collect_new(const struct config *config);
struct collect *collect_free(struct collect *c);

/* Keeps the output as raw terminal bytes, for a screen to draw. */
void collect_set_raw(struct collect *c);
/* Bytes of each stream that PID 1 may keep; goes into the frame that starts the run. */
uint64_t collect_stdout_limit(const struct config *config);
uint64_t collect_stderr_limit(const struct config *config);
/* If a run's text has more bytes than this, PID 1 keeps all of it in the session, because the answer may cut it. */
uint64_t collect_keep_over(const struct config *config);

/* Some frames would block the loop for too long: their JSON is large, or they end a long output. For these the
 * caller has a worker run prepared_work(), holds back the frames that follow, then calls collect_take_prepared()
 * and collect_frame(). */
struct prepared;
/* NULL if the loop can process the frame directly. Copies everything that the worker needs from the collector. */
struct prepared *collect_prepare(const struct collect *c, const struct wire_frame *frame);
/* Runs in any thread. The frame's payload must stay valid until it returns. Has a CPU limit; texts cut by that
 * limit say so. */
void prepared_work(struct prepared *p, const struct wire_frame *frame);
/* Takes ownership of p, which is used for the next frame. */
void collect_take_prepared(struct collect *c, struct prepared *p);
/* Accepts NULL, returns NULL. */
struct prepared *prepared_free(struct prepared *p);

/* 1 if this was END, 0 if more frames follow, -EPROTO if PID 1 violated the protocol. */
int collect_frame(struct collect *c, const struct wire_frame *frame);
/* After a DISPLAY frame: fills in what it changed; false if the display was dropped for lack of room. *ret is valid
 * until the next frame. */
bool collect_shown(const struct collect *c, struct shown_display *ret);
/* The number of displays held; updates and dropped displays do not count. */
size_t collect_displays(const struct collect *c);
/* Value and error so far; its texts and displays are not set yet. Valid until the next frame. */
const struct run_result *collect_partial(const struct collect *c);
/* Passes the live output and the displays collected so far to the viewer, in order. */
struct collect_viewer {
	void (*on_output)(void *ctx, int stream, const void *data, size_t n);
	void (*on_display)(void *ctx, const struct shown_display *display);
	void *ctx;
};
void collect_show(const struct collect *c, const struct collect_viewer *v);
/* Takes over PID 1's summary of the piece that this mark ends. Call collect_finish() next. */
void collect_mark(struct collect *c, const struct wire_mark *mark);
/* Builds the result from the frames so far. Without an END, the caller sets the ending. Leaves the collector
 * empty. */
void collect_finish(struct collect *c, struct run_result *ret);
/* True if END said that PID 1 refused the run. Nothing ran then, and the result's detail gives the reason. */
bool collect_refused(const struct collect *c);

#endif
