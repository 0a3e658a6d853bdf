/* The end of what both streams of a call wrote, in the order it was written: one ring of bytes, each run of them tagged with its
 * stream, and between them the places of what went on live (displays, the result, a head that was not yet full). */
#ifndef HUSK_KERNELS_RUNS_TAIL_H
#define HUSK_KERNELS_RUNS_TAIL_H

#include "kernels/runs/capture.h"

/* Neither a stream's number. */
#define TAIL_PLACE 0xff
/* A program that switches streams for every byte must not cost more than it writes; the oldest runs go first. */
#define TAIL_RUNS_MAX 16384u

struct tail {
	struct ring bytes; /* `{ .bytes = { .max = N } }` is empty and valid */
	struct tail_run {
		uint32_t n;
		uint8_t tag;
	} * runs;
	size_t first, n_runs, cap;
	bool begun; /* something has been written to it */
};

void tail_release(struct tail *t);
void tail_add(struct tail *t, uint8_t stream, const void *data, size_t n);
/* Here stands what was just sent. Nothing if the tail has not begun. */
void tail_place(struct tail *t);
/* True if nothing was written after the last place. */
bool tail_at_place(const struct tail *t);
/* Bytes of a stream. */
size_t tail_bytes(const struct tail *t, uint8_t stream);
/* Calls fn for each run, oldest first; data is NULL for a place. */
void tail_each(const struct tail *t, void (*fn)(void *ctx, uint8_t tag, const void *data, size_t n), void *ctx);

#endif
