/* The line to one PID 1: hello and epoch, claim, heartbeat, replay, and its runs, transfers, consoles and queries.
 * A broken connection does not mean that the container died. The owner decides whether to reconnect; PID 1 then
 * replays what was not acknowledged.
 *
 * Callbacks are called from the loop, never from inside the function that registers them. Any of them may close the
 * line, but none may free it. */
#ifndef HUSK_MANAGER_LINE_LINE_H
#define HUSK_MANAGER_LINE_LINE_H

#include "manager/line/dispatch.h"
#include "manager/line/transport.h"

struct line;

struct line_handler {
	/* PID 1 has answered, for the first time or again. Called before PID 1 replays anything. */
	void (*on_hello)(void *ctx, const struct wire_hello *hello);
	void (*on_event)(void *ctx, const struct wire_event *event);
	/* The connection is gone, but PID 1 keeps its runs. Call line_retry() or line_close(). CAUSE_PROTOCOL:
	 * PID 1 can no longer be trusted. */
	void (*on_broken)(void *ctx, const struct fail *f);
	void *ctx;
};

struct line_spec {
	struct loop *loop;
	const struct config *config;
	struct transport *transport; /* owned by the line */
	const char *container;	     /* the container's name, for logs; NULL = unknown. Must outlive the line */
	uint64_t epoch;
	uint64_t lease_ms; /* used until PID 1 sends its own lease */
	struct line_handler handler;
};

/* Does not connect yet. loop and config must outlive the line. */
struct line *line_new(const struct line_spec *spec);
/* Drops all runs and requests without calling back. Accepts NULL, returns NULL. */
struct line *line_free(struct line *l);

/* Sets the container's purpose. It is sent now if PID 1 has answered, else with the next hello. A server that
 * adopts a container does not claim it. */
void line_claim(struct line *l, const struct wire_claim *claim);
/* Connects soon, from the loop. */
void line_open(struct line *l);
/* Reconnects after a pause that grows with each failure. */
void line_retry(struct line *l);
/* The number of consecutive connection failures. */
unsigned line_failures(const struct line *l);
/* True while PID 1's lease lasts: it keeps everything, even if it does not hear from a server. */
bool line_in_lease(const struct line *l);
/* Stops heartbeats and connection attempts, and ends transfers with `why`. Runs stay until line_cut() or
 * line_free(). */
void line_close(struct line *l, const struct fail *why);
/* Like line_close(), for a container that will be removed next: PID 1 kills every process, which saves the engine
 * time. */
void line_stop(struct line *l, const struct fail *why);
/* Ends all runs that have a waiter, with the output so far, and all consoles, queries and status requests. */
void line_cut(struct line *l, enum ending ending, const struct fail *why);

/* For starting runs, transfers, consoles and queries. */
struct dispatch *line_dispatch(struct line *l);
bool line_busy(const struct line *l);
/* "exec" or "socket". */
const char *line_transport(const struct line *l);

#endif
