/* The end of both streams of a run, in the order of writing: one ring of bytes, each piece tagged with its stream.
 * Places between the pieces stand for output that was sent live (displays, the result, a head that was not yet
 * full). */
#ifndef HUSK_KERNELS_RUNS_TAIL_H
#define HUSK_KERNELS_RUNS_TAIL_H

#include "kernels/runs/capture.h"

/* The tag of a place; not the number of a stream. */
#define TAIL_PLACE 0xff
/* Bounds the memory for pieces, for a program that switches streams for every byte. The oldest pieces are dropped
 * first. */
#define TAIL_RUNS_MAX 16384u

struct tail {
	struct ring bytes; /* `{ .bytes = { .max = N } }` is empty and valid */
	struct tail_run {
		uint32_t n;
		uint8_t tag;
	} * runs;
	size_t first, n_runs, cap;
	bool begun; /* something was written to the tail */
};

void tail_release(struct tail *t);
void tail_add(struct tail *t, uint8_t stream, const void *data, size_t n);
/* Marks the place of something that was just sent. Does nothing if the tail is empty. */
void tail_place(struct tail *t);
/* True if nothing was written after the last place. */
bool tail_at_place(const struct tail *t);
/* Bytes of a stream. */
size_t tail_bytes(const struct tail *t, uint8_t stream);
/* Calls fn for each piece, oldest first; data is NULL for a place. */
void tail_each(const struct tail *t, void (*fn)(void *ctx, uint8_t tag, const void *data, size_t n), void *ctx);

#endif
