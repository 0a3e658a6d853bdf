/* The bytes of one connection, plain or through TLS. The channel has no deadlines for a peer that stops reading or
 * writing: its owner sees how much is queued and when bytes arrive, and sets its own. */
#ifndef HUSK_HTTP_CHANNEL_H
#define HUSK_HTTP_CHANNEL_H

#include "base/loop.h"
#include "base/tls.h"

struct channel;

struct channel_ops {
	/* Each of these callbacks may free the channel. */
	void (*on_data)(void *ctx, const void *data, size_t n);
	/* The peer has closed its end, or the connection failed (-errno). Called once. While the channel is paused, it
	 * is called as soon as the system reports the end. */
	void (*on_eof)(void *ctx, int error);
	/* Everything that was queued is sent. May be NULL. */
	void (*on_drained)(void *ctx);
	/* A descriptor arrived on a unix socket, before the bytes that it came with. The callee owns it. NULL =
	 * descriptors are closed. */
	void (*on_descriptor)(void *ctx, int fd);
};

/* Takes ownership of the connected socket, on success and on failure. tls NULL = plain; otherwise the channel owns it.
 * Returns NULL and sets errno on failure. */
struct channel *channel_new(struct loop *loop, int fd, struct tls *tls, const struct channel_ops *ops, void *ctx);
/* Call it from on_data of a plain channel: these bytes and all that follow are TLS. Takes ownership of tls. on_data is
 * called from inside it; the channel may be freed when it returns. */
void channel_start_tls(struct channel *c, struct tls *tls, const void *data, size_t n);
/* True if the peer has proved a shared secret (tls_context_shared()). */
bool channel_is_shared(const struct channel *c);
/* Closes at once. Accepts NULL, returns NULL. */
struct channel *channel_free(struct channel *c);
/* Gives the channel another owner. */
void channel_set_ops(struct channel *c, const struct channel_ops *ops, void *ctx);
/* Takes ownership of the channel: sends what is queued, closes the sending side, and reads and drops what still
 * arrives, for 2 s at most. A plain close would destroy an answer on its way if the peer is still sending. */
void channel_finish(struct channel *c);

/* Copies and queues. 0, -EPIPE, -EPROTO or -ENOBUFS (more than 64 MiB unsent). */
int channel_write(struct channel *c, const void *data, size_t n);
/* The same with open files, which arrive with the first of these bytes: only over a unix socket. They are duplicated.
 * At most CHANNEL_FILES_MAX. */
#define CHANNEL_FILES_MAX 4
int channel_write_with(struct channel *c, const void *data, size_t n, const int *files, size_t n_files);
size_t channel_queued(const struct channel *c);
void channel_pause(struct channel *c, bool paused);
/* Gives back bytes that the owner has read but does not use: on_data gets them first, in the next turn of the loop. */
void channel_unread(struct channel *c, const void *data, size_t n);
/* The socket, for its options and its peer's address; the channel still owns it. */
int channel_fd(const struct channel *c);

#endif
