/* PID 1's loop: poll() over watches, and timeouts. Both are embedded in their owners and found by container_of. A
 * turn records first what is ready and calls back later, so a callback may stop or free any watch or timeout,
 * including its own. */
#ifndef HUSK_KERNELS_SYSTEM_POLLER_H
#define HUSK_KERNELS_SYSTEM_POLLER_H

#include <poll.h>

#include "base/list.h"

struct watch;

struct poller {
	struct list watches;
	struct list ready;
	struct list timeouts;
	void (*on_ready)(struct poller *p, const struct watch *w); /* before each callback of a watch; may be NULL */
};

struct watch {
	struct list node;
	struct list ready;
	int fd;
	short events; /* POLLIN, POLLOUT; the owner may change it at any time. 0 still reports errors and hang-up. */
	short revents;
	void (*fn)(struct watch *w, short revents);
};

struct timeout {
	struct list node;
	uint64_t due_ms;
	void (*fn)(struct timeout *t);
};

void poller_init(struct poller *p);

/* The caller keeps the descriptor and stops the watch before closing it. */
void watch_start(struct poller *p, struct watch *w, int fd, short events, void (*fn)(struct watch *w, short revents));
/* Idempotent, also on a zeroed watch. */
void watch_stop(struct watch *w);

/* Fires once, after ms (at least one). Starting a running timeout moves it. */
void timeout_start(struct poller *p, struct timeout *t, uint64_t ms, void (*fn)(struct timeout *t));
/* Idempotent, also on a zeroed timeout. */
void timeout_stop(struct timeout *t);
bool timeout_active(const struct timeout *t);
/* The number of running timeouts. */
size_t poller_timeouts(const struct poller *p);

/* Waits until something is ready or due, at most wait_ms, then calls back. */
void poller_turn(struct poller *p, uint64_t wait_ms);

#endif
