/* Joins a stream of a line and a socket of the host: bytes pass in both directions, each ends by itself, and neither is
 * read faster than the other side takes its bytes. */
#ifndef HUSK_MANAGER_LINE_BRIDGE_H
#define HUSK_MANAGER_LINE_BRIDGE_H

#include "base/duplex.h"
#include "manager/line/line-stream.h"

/* Embedded in its owner. */
struct bridge {
	/* The other side has accepted: bridge_join() follows, in this call or later. */
	void (*on_open)(struct bridge *b);
	/* The last callback. f NULL: both directions have ended properly. */
	void (*on_end)(struct bridge *b, const struct fail *f);

	/* Private. */
	struct line_stream stream;
	struct duplex *duplex;
	size_t unsent; /* bytes that the socket has not accepted */
	bool over;     /* the stream has ended properly */
};

/* Connects to a port of the session. Set the callbacks first. -1 with f if no stream can be opened now. */
int bridge_open(struct bridge *b, struct dispatch *d, uint16_t port, struct fail *f);
/* Takes ownership of the socket, on success and on failure. -errno: on_end() does not follow. */
int bridge_join(struct bridge *b, struct loop *loop, int fd);
/* Resets both sides without a callback. Idempotent; a bridge that was never opened is accepted. */
void bridge_close(struct bridge *b);

#endif
