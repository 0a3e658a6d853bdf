/* A socket whose two directions end separately, with back pressure for each. It never blocks, even if another process
 * has the same open socket and changes its flags: every call says so itself. */
#ifndef HUSK_BASE_DUPLEX_H
#define HUSK_BASE_DUPLEX_H

#include "base/loop.h"

struct duplex;

struct duplex_ops {
	/* For a socket that was still connecting: 0, or -errno, after which only duplex_free() may follow. May be NULL
	 * for a connected socket. */
	void (*on_connected)(void *ctx, int error);
	void (*on_data)(void *ctx, const void *data, size_t n);
	/* The system has accepted n bytes that were written. */
	void (*on_sent)(void *ctx, size_t n);
	/* The peer has sent everything. */
	void (*on_finish)(void *ctx);
	/* The connection broke, -errno. Called once, as the last callback. */
	void (*on_error)(void *ctx, int error);
};

/* The most that on_data() gets at once. */
#define DUPLEX_READ_MAX (32u << 10)

/* Takes ownership of the socket, on success and on failure. Callbacks may free the duplex. It is paused at first if
 * `paused`. NULL, with errno set, if the system has no room. */
struct duplex *duplex_new(struct loop *loop, int fd, bool connecting, bool paused, const struct duplex_ops *ops,
			  void *ctx);
/* Closes at once. Accepts NULL, returns NULL. */
struct duplex *duplex_free(struct duplex *d);
/* Like duplex_free(), but the peer sees a reset connection if it is TCP. */
struct duplex *duplex_reset(struct duplex *d);
/* Copies and queues; the caller bounds the queue by on_sent(). Errors are reported by on_error(). */
void duplex_write(struct duplex *d, const void *data, size_t n);
/* Ends our direction after everything that was written. Idempotent. */
void duplex_end(struct duplex *d);
void duplex_pause(struct duplex *d, bool paused);

#endif
