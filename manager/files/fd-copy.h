/* Copies a large file out of the container through a descriptor that PID 1 has passed, piece by piece, in two
 * worker jobs at the same time. */
#ifndef HUSK_MANAGER_FILES_FD_COPY_H
#define HUSK_MANAGER_FILES_FD_COPY_H

#include "base/loop.h"
#include "manager/files/sink.h"

struct fd_copy;

struct fd_copy_spec {
	struct loop *loop;
	struct sink *sink; /* borrowed, for exclusive use until on_done; sink_stop() ends the copy soon */
	int file;	   /* likewise */
	void (*on_progress)(void *ctx, uint64_t bytes);
	/* Called exactly once, never from inside fd_copy_start(); the copy is gone afterwards. All data is in the
	 * sink, or f says why not. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};

/* NULL with f if it cannot start. */
struct fd_copy *fd_copy_start(const struct fd_copy_spec *spec, struct fail *f);

#endif
