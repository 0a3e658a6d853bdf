/* A large file whose descriptor PID 1 has passed on: copied out of the container without PID 1, piece by piece, by two jobs side by
 * side. */
#ifndef HUSK_MANAGER_FILES_LIFT_H
#define HUSK_MANAGER_FILES_LIFT_H

#include "base/loop.h"
#include "manager/files/sink.h"

struct lift;

struct lift_spec {
	struct loop *loop;
	struct sink *sink; /* borrowed, and nobody else's until on_done; sink_stop() ends the lift soon */
	int file;	   /* likewise */
	void (*on_progress)(void *ctx, uint64_t bytes);
	/* Exactly once, never from inside lift_start(), and the lift is gone then: all is in the sink, or f says why not. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};

/* NULL with f filled if it cannot begin. */
struct lift *lift_start(const struct lift_spec *spec, struct fail *f);

#endif
