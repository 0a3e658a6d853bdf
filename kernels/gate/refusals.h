/* Connections of programs that the gate refuses, and that get an answer in their own protocol: HTTP gets a page that
 * says why, and TLS an alert. Everything else is reset. */
#ifndef HUSK_KERNELS_GATE_REFUSALS_H
#define HUSK_KERNELS_GATE_REFUSALS_H

#include "base/list.h"
#include "kernels/host-name.h"
#include "kernels/system/poller.h"

/* More are reset at once. */
#define REFUSALS_MAX 32u

struct refusals {
	struct poller *poller;
	const char *const *hint; /* what may be reached; *hint NULL = unknown */
	/* A connection that nobody had a name for has asked for this host ("" = it did not say which). */
	void (*on_asked)(struct refusals *all, const char *name, uint16_t port);
	struct list list; /* of struct refusal */
	size_t n;
};

void refusals_init(struct refusals *all, struct poller *p);
/* Answers a connection and closes it. Takes the descriptor. name "" = it is not known. The cause is one of
 * STREAM_REFUSE. */
void refusals_take(struct refusals *all, int fd, const char *name, uint16_t port, const char *cause);

#endif
