/* The output that a run's caller sees while the run is active: cleaned text as it arrives, and displays in
 * between. A caller that takes displays gets everything in the result exactly once, even if the connection breaks,
 * and a line for what is missing. */
#ifndef HUSK_MANAGER_REGISTRY_LIVE_H
#define HUSK_MANAGER_REGISTRY_LIVE_H

#include "base/buf.h"
#include "manager/manager.h"

struct live {
	const struct run_request *request;
	struct buf partial[2]; /* an unfinished UTF-8 sequence at the end of a piece of output */
	/* The rest is used for callers that take displays. */
	bool began;		     /* something was shown */
	uint64_t shown[2], known[2]; /* bytes of each stream; those of a replay that were shown before */
	size_t displays, known_displays;
	struct live_piece {
		int stream;
		struct buf bytes;
	} * tail;
	size_t n_tail, tail_cap;
};

void live_output(struct live *l, int stream, const void *data, size_t n);
void live_display(struct live *l, const struct shown_display *display);
/* The last bytes of a stream that wrote more than is shown live. */
void live_tail(struct live *l, int stream, const void *data, size_t n);
/* All output comes again, with only this number of displays. The others were discarded. */
void live_replay(struct live *l, size_t displays);
/* Shows the rest before the caller gets the result. */
void live_end(struct live *l, const struct run_result *result);
/* True if live_end() would block the loop too long. Then a worker job calls it, with its own request that keeps
 * the texts. */
bool live_end_is_heavy(const struct live *l);
void live_release(struct live *l);

#endif
