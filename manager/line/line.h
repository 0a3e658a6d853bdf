/* The line to one PID 1: hello and epoch, claim, heartbeat, replay, and the calls on it. A connection that breaks proves
 * nothing: its owner decides whether it is made again, and PID 1 then replays what was not acknowledged.
 *
 * Callbacks come from the loop, never from inside the call that set them up. The line may be closed from inside any of them,
 * and must not be freed there. */
#ifndef HUSK_MANAGER_LINE_LINE_H
#define HUSK_MANAGER_LINE_LINE_H

#include "manager/line/dispatch.h"
#include "manager/line/transport.h"

struct line;

struct line_handler {
	/* PID 1 has answered, for the first time or again; before it replays anything. */
	void (*on_hello)(void *ctx, const struct wire_hello *hello);
	void (*on_event)(void *ctx, const struct wire_event *event);
	/* A frame of the relay: 0, or negative if PID 1 broke the protocol. NULL = nothing is relayed here. */
	int (*on_relay)(void *ctx, const struct wire_frame *frame);
	/* The connection is gone, and PID 1's calls stay as they are: line_retry(), or line_close(). CAUSE_PROTOCOL: PID 1 is
	 * not to be trusted any more. */
	void (*on_broken)(void *ctx, const struct fail *f);
	void *ctx;
};

struct line_spec {
	struct loop *loop;
	const struct config *config;
	struct transport *transport; /* taken */
	const char *container;	     /* its name, for logs; NULL = not known. Must outlive the line */
	uint64_t epoch;
	uint64_t lease_ms; /* until PID 1 names its own */
	struct line_handler handler;
};

/* Nothing is opened yet. loop and config must outlive it. */
struct line *line_new(const struct line_spec *spec);
/* Everything on it is dropped without an answer. Accepts NULL, returns NULL. */
struct line *line_free(struct line *l);

/* What the container is for; sent with the next hello, or now if PID 1 has answered. Whoever adopts claims nothing. */
void line_claim(struct line *l, const struct wire_claim *claim);
/* Makes the connection, from the loop. */
void line_open(struct line *l);
/* Makes it again, after a pause that grows with each failure. */
void line_retry(struct line *l);
/* How often in a row it could not be made. */
unsigned line_failures(const struct line *l);
/* True while PID 1 holds on to everything although it hears nothing. */
bool line_in_lease(const struct line *l);
/* No more attempts, no more heartbeats: `why` ends what is being copied; runs stay until line_cut() or line_free(). */
void line_close(struct line *l, const struct fail *why);
/* Answers all runs with what has come so far, and ends terminals, questions and looks. */
void line_cut(struct line *l, enum ending ending, const struct fail *why);

/* Where calls are made. */
struct dispatch *line_dispatch(struct line *l);
bool line_busy(const struct line *l);
/* "exec", "socket". */
const char *line_transport(const struct line *l);

#endif
