/* The output that a run's caller sees while the run is active: cleaned text as it arrives, and displays in
 * between. A caller that takes displays gets all output exactly once, even if the connection breaks. A line says how
 * many bytes were cut. */
#ifndef HUSK_MANAGER_REGISTRY_LIVE_H
#define HUSK_MANAGER_REGISTRY_LIVE_H

#include "base/buf.h"
#include "manager/manager.h"

/* Where the output goes. on_output may be NULL, and on_display may be NULL if no displays are passed in. */
struct live_viewer {
	void (*on_output)(void *ctx, int stream, const char *text, size_t n);
	void (*on_display)(void *ctx, const struct shown_display *display);
	void *ctx;
};

struct live {
	struct live_viewer viewer;
	struct buf partial[2]; /* an unfinished UTF-8 sequence at the end of a piece of output */
	/* The fields below are used only for callers that take displays. */
	bool began;		     /* something was shown */
	uint64_t shown[2], known[2]; /* bytes shown of each stream; bytes of a replay that are skipped */
	size_t displays, known_displays;
	struct live_piece {
		int stream;
		struct buf bytes;
	} * tail;
	size_t n_tail, tail_cap;
};

void live_output(struct live *l, int stream, const void *data, size_t n);
void live_display(struct live *l, const struct shown_display *display);
/* Takes the last bytes of a stream that wrote more than is shown live. */
void live_tail(struct live *l, int stream, const void *data, size_t n);
/* All output follows again, but only this number of the earlier displays. The others were discarded. */
void live_replay(struct live *l, size_t displays);
/* Drops the beginning of the tail, so that live_end() does not block the loop. The dropped bytes count as cut. */
void live_cut_tail(struct live *l);
/* Shows the remaining output of a piece that ends with a mark, and starts the next piece. */
void live_mark(struct live *l, uint64_t stdout_bytes, uint64_t stderr_bytes);
/* Shows the remaining output before the caller gets the result. */
void live_end(struct live *l, const struct run_result *result);
/* True if live_end() would block the loop too long. A worker job must then call it, with a viewer that collects the
 * texts. */
bool live_end_is_heavy(const struct live *l);
void live_release(struct live *l);

#endif
