/* The frames of one call become a run_result: accumulated, bounded, cleaned, cut to the MAX_* settings. */
#ifndef HUSK_MANAGER_LINE_COLLECT_H
#define HUSK_MANAGER_LINE_COLLECT_H

#include "base/buf.h"
#include "manager/line/wire.h"
#include "manager/model/config.h"
#include "manager/model/result.h"

struct collect;

/* Limits come from the config, which must outlive it. */
struct collect *collect_new(const struct config *config);
struct collect *collect_free(struct collect *c);

/* Its output is what a terminal gets: kept as bytes, for a screen to show. */
void collect_set_raw(struct collect *c);
/* Bytes that PID 1 may keep of each stream, for the frame that starts the run. */
uint64_t collect_stdout_limit(const struct config *config);
uint64_t collect_stderr_limit(const struct config *config);
/* Bytes of text past which an answer may be cut, so that PID 1 keeps all of it in the session. */
uint64_t collect_keep_over(const struct config *config);

/* A frame that would take the loop too long: its JSON is large, or it ends much output. The caller has a worker do prepared_work()
 * while it holds back the frames that follow, then gives the result to collect_take_prepared() and the frame to collect_frame(). */
struct prepared;
/* NULL if the loop can take the frame as it is. Of the collector, all that the work needs is copied. */
struct prepared *collect_prepare(const struct collect *c, const struct wire_frame *frame);
/* In any thread; the frame's payload must stay until it returns. It ends early at a deadline of its own: then the texts say so. */
void prepared_work(struct prepared *p, const struct wire_frame *frame);
/* Takes it, for the next frame. */
void collect_take_prepared(struct collect *c, struct prepared *p);
/* Accepts NULL, returns NULL. */
struct prepared *prepared_free(struct prepared *p);

/* 1 when this was END, 0 when more comes, -EPROTO if PID 1 broke the protocol. */
int collect_frame(struct collect *c, const struct wire_frame *frame);
/* What the last frame, a DISPLAY, has shown; false if there was no room for it. Valid until the next frame. */
bool collect_shown(const struct collect *c, struct shown_display *ret);
/* How many displays it holds: without updates, and without those that gave way to later ones. */
size_t collect_displays(const struct collect *c);
/* Shows all that has come so far and is not cut from what comes live, in order. */
struct collect_viewer {
	void (*on_output)(void *ctx, int stream, const void *data, size_t n);
	void (*on_display)(void *ctx, const struct shown_display *display);
	void *ctx;
};
void collect_show(const struct collect *c, const struct collect_viewer *v);
/* What PID 1 says of the piece that ends here; collect_finish() follows. */
void collect_mark(struct collect *c, const struct wire_mark *mark);
/* Builds the result from what has arrived, also without an END: then the ending is the caller's to set. The collector is
 * empty afterwards. */
void collect_finish(struct collect *c, struct run_result *ret);
/* True if END said that PID 1 would not take the call: nothing ran; the result's detail says why. */
bool collect_refused(const struct collect *c);

#endif
