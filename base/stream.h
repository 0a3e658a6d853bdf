/* A byte stream on a descriptor pair: reads arrive by callback, writes are queued and bounded. Used for the protocol's
 * stdin/stdout and for the pipes of a child. */
#ifndef HUSK_BASE_STREAM_H
#define HUSK_BASE_STREAM_H

#include "base/loop.h"

struct stream;

struct stream_ops {
	/* Data is valid only during the call, which may free the stream. */
	void (*on_data)(void *ctx, const void *data, size_t n);
	/* A descriptor arrived on a socket, before the bytes it came with. The callee owns it. NULL = received
	 * descriptors are closed. */
	void (*on_descriptor)(void *ctx, int fd);
	/* The read side has ended: error 0 at EOF, else -errno. Called once. */
	void (*on_eof)(void *ctx, int error);
	/* A write failed (-EPIPE: the reader is gone). Called once; may be NULL. */
	void (*on_write_error)(void *ctx, int error);
	/* The write queue is empty; may be NULL. */
	void (*on_drained)(void *ctx);
	/* The writer closed its end while reading was paused: only unread data is left. Called once; may be NULL. */
	void (*on_hangup)(void *ctx);
};

/* Takes ownership of both descriptors, on success and on failure. in_fd == out_fd is one socket; either may be -1.
 * Accepts pipes, sockets, terminals and regular files. Reading starts at once. Returns NULL and sets errno on
 * failure. */
struct stream *stream_new(struct loop *loop, int in_fd, int out_fd, const struct stream_ops *ops, void *ctx);
/* Closes at once; queued writes are dropped. Accepts NULL, returns NULL. */
struct stream *stream_free(struct stream *s);

/* Copies and queues. 0, -ENOBUFS if the queue would exceed its maximum (nothing was queued), or -EPIPE. */
int stream_write(struct stream *s, const void *data, size_t n);
/* The same, with descriptors that accompany the first of these bytes (at least one byte; sockets only). They are
 * duplicated. Returns -errno also if duplication fails. */
#define STREAM_DESCRIPTORS_MAX 4
int stream_write_with(struct stream *s, const void *data, size_t n, const int *fds, size_t n_fds);
void stream_set_queue_max(struct stream *s, size_t max);
size_t stream_queued(const struct stream *s);
/* Stops and resumes reading (back pressure). */
void stream_pause(struct stream *s, bool paused);
/* Writes as much of the queue as the descriptor accepts without blocking. For a process that is about to exit. */
void stream_flush_now(struct stream *s);

#endif
