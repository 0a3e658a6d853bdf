/* Reports when a descriptor of another library can be read or written, for libraries that do their own I/O on our
 * loop. */
#ifndef HUSK_BASE_READY_H
#define HUSK_BASE_READY_H

#include "base/loop.h"

struct ready;

enum { READY_READ = 1, READY_WRITE = 2 };

/* Watches nothing at first. The caller keeps the descriptor, and frees this object before closing it. Returns NULL and
 * sets errno if the descriptor cannot be watched. */
struct ready *ready_new(struct loop *loop, int fd, void (*fn)(void *ctx, int events), void *ctx);
/* Idempotent; may be called from the callback. Accepts NULL, returns NULL. */
struct ready *ready_free(struct ready *r);
/* READY_READ, READY_WRITE, both or 0. */
void ready_watch(struct ready *r, int events);

#endif
