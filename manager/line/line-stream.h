/* Streams on a line: connections into a session's own ports, and connections out of a session through the gate
 * (line-gate.h), as bytes in both directions. They are not replayed: a broken connection to PID 1 resets them. Nothing
 * is buffered here, because each end sends only as much as the other has granted credit for. */
#ifndef HUSK_MANAGER_LINE_LINE_STREAM_H
#define HUSK_MANAGER_LINE_LINE_STREAM_H

#include "manager/line/dispatch.h"

/* Embedded in its owner, or given to it by a line_gate. */
struct line_stream {
	/* The server in the session has accepted the connection. Not called for a stream that PID 1 opened. */
	void (*on_open)(struct line_stream *s);
	/* The owner calls line_stream_taken() afterwards. */
	void (*on_bytes)(struct line_stream *s, const void *data, size_t n);
	/* There is more room for line_stream_write(). */
	void (*on_room)(struct line_stream *s);
	/* The other side has sent everything. */
	void (*on_finish)(struct line_stream *s);
	/* The last callback. f NULL: both directions have ended properly. CAUSE_PORT_REFUSED: there is no server.
	 * CAUSE_STREAM_BROKE: the connection was reset. */
	void (*on_end)(struct line_stream *s, const struct fail *f);
	void *owner; /* of its owner */

	/* Private. */
	struct list node;
	struct dispatch *dispatch; /* NULL = not open */
	uint32_t number;
	uint16_t port;
	bool inbound;	   /* PID 1 opened it */
	uint32_t unsent;   /* bytes without credit */
	uint32_t held;	   /* bytes that the owner has not taken */
	uint32_t credited; /* bytes taken, but not reported to PID 1 yet */
	bool accepted, in_ended, out_ended;
};

/* Set the callbacks first. -1 with f if no stream can be opened now. */
int line_stream_open(struct line_stream *s, struct dispatch *d, uint16_t port, struct fail *f);
/* Bytes that may be written now. */
size_t line_stream_room(const struct line_stream *s);
/* n is at most line_stream_room(). */
void line_stream_write(struct line_stream *s, const void *data, size_t n);
/* Ends our direction. on_end() may follow from inside this call. */
void line_stream_finish(struct line_stream *s);
void line_stream_taken(struct line_stream *s, size_t n);
/* Resets it without any callback. Idempotent; a stream that was never opened is accepted. */
void line_stream_close(struct line_stream *s);

/* For a stream that PID 1 opened: there is a connection to the host. on_room() follows if line_stream_room() is still
 * 0. */
void line_stream_accept(struct line_stream *s);
/* There is none, or it ends abruptly. No callback follows. The program gets an answer that names the cause, as far as its
 * protocol has one and line_stream_accept() was not called; else it sees a reset connection. */
void line_stream_refuse(struct line_stream *s, enum wire_refusal why);

/* --- for the line ---------------------------------------------------------------------------------------------- */
/* Takes a STREAM frame: 0, or negative if PID 1 violated the protocol. */
int line_streams_frame(struct dispatch *d, const struct wire_frame *frame);
/* A stream that PID 1 has opened. */
void line_stream_begin(struct line_stream *s, struct dispatch *d, uint32_t number, uint16_t port);
struct line_stream *line_streams_find(struct dispatch *d, uint32_t number);
/* Ends all streams with this failure. */
void line_streams_lost(struct dispatch *d, const struct fail *f);
/* Drops all streams without callbacks. */
void line_streams_release(struct dispatch *d);

#endif
