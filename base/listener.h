/* A listening socket on the loop. */
#ifndef HUSK_BASE_LISTENER_H
#define HUSK_BASE_LISTENER_H

#include "base/loop.h"

struct listener;

/* Takes the descriptor, a socket that listens, on success and on failure. on_connection takes each new descriptor; the listener
 * may be freed from inside. Returns NULL and sets errno on failure. */
struct listener *listener_new(struct loop *loop, int fd, void (*on_connection)(void *ctx, int fd), void *ctx);
/* Connections that on_connection was not told of yet are closed. Accepts NULL, returns NULL. */
struct listener *listener_free(struct listener *l);

#endif
