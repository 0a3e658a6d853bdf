/* What a run shows to its caller while it goes on: text as it comes, cleaned, and displays in between. A caller who takes displays is
 * shown each thing once, whatever happens to the connection: all that the answer has, and a line for what is missing. */
#ifndef HUSK_MANAGER_REGISTRY_LIVE_H
#define HUSK_MANAGER_REGISTRY_LIVE_H

#include "base/buf.h"
#include "manager/manager.h"

struct live {
	const struct run_request *request;
	struct buf partial[2]; /* an unfinished UTF-8 sequence at the end of a piece of output */
	/* The rest is of callers who take displays. */
	bool began;		     /* something was shown */
	uint64_t shown[2], known[2]; /* bytes of each stream; and those of a replay that were shown before */
	size_t displays, known_displays;
	struct live_piece {
		int stream;
		struct buf bytes;
	} * tail;
	size_t n_tail, tail_cap;
};

void live_output(struct live *l, int stream, const void *data, size_t n);
void live_display(struct live *l, const struct shown_display *display);
/* The last bytes of a stream, of which more was written than comes live. */
void live_tail(struct live *l, int stream, const void *data, size_t n);
/* All of it comes again, but of the displays only so many: the others gave way. */
void live_replay(struct live *l, size_t displays);
/* Shows what has not been, before the caller is answered. */
void live_end(struct live *l, const struct run_result *result);
/* True if that would take the loop too long: a worker does live_end() then, with a request of its own that keeps the texts. */
bool live_end_is_heavy(const struct live *l);
void live_release(struct live *l);

#endif
