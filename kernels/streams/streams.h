/* Streams: connections that pass through the line. The manager opens streams into the session's own ports, and PID 1
 * opens streams for connections that programs of the session make to the gate. Bytes pass unchanged in both
 * directions, each direction ends by itself, and each has its own credit, so a stream that is not read delays nothing
 * else and fills no memory.
 *
 * Streams are not replayed: when the line's connection ends, they are reset. */
#ifndef HUSK_KERNELS_STREAMS_STREAMS_H
#define HUSK_KERNELS_STREAMS_STREAMS_H

#include "base/list.h"
#include "kernels/runs/sender.h"
#include "kernels/system/frames.h"
#include "kernels/system/poller.h"

struct streams {
	struct poller *poller;
	struct sender *sender;
	bool refuses;	  /* this container runs no user code */
	struct list list; /* of struct stream */
	size_t n;	  /* that the manager has opened */
	/* Streams of the gate: */
	size_t n_offered;
	uint32_t last_offered; /* number */
	/* The manager has refused a stream before there was a connection. The callee owns the descriptor. */
	void (*on_refused)(struct streams *all, int fd, const char *name, uint16_t port, const char *cause);
	void *gate; /* of on_refused */
};

void streams_init(struct streams *all, struct poller *p, struct sender *sender);
/* Takes a STREAM frame of any type. 0, or -EPROTO if the connection must be closed. The caller has checked that the
 * number of a new stream is free. */
int streams_frame(struct streams *all, const struct frame *frame);
/* Offers the connection of a program to the manager, as one to this host. Takes the descriptor. */
void streams_offer(struct streams *all, int fd, const char *name, uint16_t port);
/* The controller has disconnected: all streams are reset. */
void streams_orphan(struct streams *all);
/* Sends some of what has arrived. True if more can be done without waiting. A connection is only read while there is
 * credit and no frames wait except those of runs. */
bool streams_step(struct streams *all);

#endif
