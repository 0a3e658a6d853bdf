/* Tells when a descriptor of somebody else can be read or written: for libraries that do their own I/O on our loop. */
#ifndef HUSK_BASE_READY_H
#define HUSK_BASE_READY_H

#include "base/loop.h"

struct ready;

enum { READY_READ = 1, READY_WRITE = 2 };

/* Watches for nothing yet. The descriptor stays the caller's, who frees this before closing it. NULL and errno if it cannot be
 * watched. */
struct ready *ready_new(struct loop *loop, int fd, void (*fn)(void *ctx, int events), void *ctx);
/* Idempotent; from inside the callback too. Accepts NULL, returns NULL. */
struct ready *ready_free(struct ready *r);
/* READY_READ, READY_WRITE, both or 0. */
void ready_watch(struct ready *r, int events);

#endif
