/* A listening socket on the loop. */
#ifndef HUSK_BASE_LISTENER_H
#define HUSK_BASE_LISTENER_H

#include "base/loop.h"

struct listener;

/* Takes ownership of the listening socket, on success and on failure. on_connection owns each new descriptor and may
 * free the listener. Returns NULL and sets errno on failure. */
struct listener *listener_new(struct loop *loop, int fd, void (*on_connection)(void *ctx, int fd), void *ctx);
/* Closes connections that were not yet passed to on_connection. Accepts NULL, returns NULL. */
struct listener *listener_free(struct listener *l);

#endif
