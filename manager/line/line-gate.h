/* The line's end of the gate: connections that programs of a session make to hosts, as streams that PID 1 opens. PID 1
 * only carries them. The handler decides about each one by its own rules, whatever PID 1 says, and connects. */
#ifndef HUSK_MANAGER_LINE_LINE_GATE_H
#define HUSK_MANAGER_LINE_LINE_GATE_H

#include "manager/line/line-stream.h"

/* Embedded in its owner. */
struct line_gate {
	/* A program of the session has connected to a port of this name, which is valid as a name but may be one that
	 * no rule allows. The handler owns the stream from now on: it sets the callbacks and `owner`, and calls
	 * line_stream_accept() or line_stream_refuse(), in this call or later. From then on it is like any other
	 * stream. After on_end(), line_stream_refuse() or line_stream_close(), the handler calls line_gate_free().
	 * At most GATE_CONNECTIONS_MAX such streams exist at once, and GATE_NEW_A_SECOND are given a second; the line
	 * refuses further ones itself and reports them by on_denied(). */
	void (*on_open)(struct line_gate *g, struct line_stream *s, const char *name, uint16_t port);
	/* `count` more connections to this name and port never reached on_open(). Port 0: the name was resolved.
	 * name "": PID 1 does not know which name was meant. */
	void (*on_denied)(struct line_gate *g, const char *name, uint16_t port, enum wire_refusal why, uint64_t count);
};

/* Set it before the line opens. The gate must outlive the dispatch, or be replaced by NULL, after which PID 1 may open no
 * streams. */
void line_gate_set(struct dispatch *d, struct line_gate *g);
/* Replaces the rules that PID 1 has, now and after each new connection of the line. Call it before line_claim(), so that
 * no code runs without rules: until then the session has no DNS and reaches nothing. -1 with f if PID 1 is too old
 * (CAUSE_OLD_SESSION). Connections that were made by the old rules stay. */
int line_gate_rules(struct dispatch *d, const struct wire_gate *gate, struct fail *f);
/* Closes a stream that on_open() gave, without a callback if it is still open. Accepts NULL, returns NULL. Not from
 * inside a callback of that stream but on_end(). */
struct line_stream *line_gate_free(struct line_stream *s);

/* --- for the line ---------------------------------------------------------------------------------------------- */
/* Takes a STREAM_OPEN or GATE_DENIED: 0, or negative if PID 1 violated the protocol. */
int line_gate_frame(struct dispatch *d, const struct wire_frame *frame);
/* PID 1 has answered: sends the rules again. */
void line_gate_resume(struct dispatch *d);

#endif
