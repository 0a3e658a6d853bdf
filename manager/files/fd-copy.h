/* Copies a large file out of the container through the descriptor that PID 1 has passed on, piece by piece, in two worker jobs side
 * by side. */
#ifndef HUSK_MANAGER_FILES_FD_COPY_H
#define HUSK_MANAGER_FILES_FD_COPY_H

#include "base/loop.h"
#include "manager/files/sink.h"

struct fd_copy;

struct fd_copy_spec {
	struct loop *loop;
	struct sink *sink; /* borrowed, and nobody else's until on_done; sink_stop() ends the copy soon */
	int file;	   /* likewise */
	void (*on_progress)(void *ctx, uint64_t bytes);
	/* Exactly once, never from inside fd_copy_start(), and the copy is gone then: all is in the sink, or f says why not. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};

/* NULL with f filled if it cannot begin. */
struct fd_copy *fd_copy_start(const struct fd_copy_spec *spec, struct fail *f);

#endif
