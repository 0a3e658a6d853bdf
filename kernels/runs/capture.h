/* One output stream of a run: the first half of the limit is sent live (the head). The rest goes to the ring that
 * both streams share (kernels/runs/tail.h); bytes that leave the ring are only counted. */
#ifndef HUSK_KERNELS_RUNS_CAPTURE_H
#define HUSK_KERNELS_RUNS_CAPTURE_H

#include "base/buf.h"

/* The last `max` bytes of what was added. Grows as needed; `{ .max = N }` is empty and valid. */
struct ring {
	uint8_t *data;
	size_t max;
	size_t cap;
	size_t start;
	size_t len;
};

void ring_release(struct ring *r);
/* Returns the number of bytes dropped at the old end. */
size_t ring_add(struct ring *r, const void *data, size_t n);
/* Drops n bytes at the old end; there must be as many. */
void ring_drop(struct ring *r, size_t n);
/* Appends the last n bytes (all of them if there are fewer). */
void ring_copy(const struct ring *r, size_t n, struct buf *out);

struct capture {
	size_t limit; /* bytes that are kept, head and tail */
	size_t head_max;
	size_t head_len;
	uint64_t total;
};

void capture_init(struct capture *c, size_t limit);
/* Lowers the limit of a stream that is still empty. */
void capture_limit(struct capture *c, size_t limit);
/* Counts n bytes. Returns how many of the first bytes belong to the head; the rest belongs to the tail. */
size_t capture_add(struct capture *c, size_t n);
/* Forgets all bytes and starts over. */
void capture_clear(struct capture *c);
/* True once bytes arrived that did not fit into the head. */
static inline bool capture_past_head(const struct capture *c)
{
	return c->total > c->head_max;
}

#endif
