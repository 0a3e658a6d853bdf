/* Looks up the addresses of a host with the resolver of this machine, in a worker job. */
#ifndef HUSK_BASE_RESOLVE_H
#define HUSK_BASE_RESOLVE_H

#include <sys/socket.h>

#include "base/loop.h"

#define RESOLVE_ADDRESSES_MAX 16

struct resolve;

struct resolve_spec {
	const char *name; /* copied */
	uint16_t port;
	const char *session; /* whom it is for (base/work.h) */
	/* The addresses in the order in which they should be tried. None: `temporary` says that the resolver did not
	 * answer, otherwise there is no such name. The resolve is freed afterwards. */
	void (*on_done)(void *ctx, const struct sockaddr_storage *v, size_t n, bool temporary);
	void *ctx;
};

struct resolve *resolve_start(struct loop *loop, const struct resolve_spec *spec);
/* Before on_done(): it is not called. Accepts NULL, returns NULL. */
struct resolve *resolve_free(struct resolve *r);

#endif
