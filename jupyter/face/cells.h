/* The queue of cells. Cells run one after the other. Each is a run of the session, which has the session's limits and
 * also waits in the session's own queue. Restarts of the interpreter wait in the queue of cells. */
#ifndef HUSK_JUPYTER_FACE_CELLS_H
#define HUSK_JUPYTER_FACE_CELLS_H

#include "attach/client.h"
#include "jupyter/face/publisher.h"

struct cells;

struct cells_spec {
	struct channels *channels;
	struct publisher *publisher;
	/* Called once, when the session has ended and all requests are answered. */
	void (*on_gone)(void *ctx, const char *why);
	void *ctx;
};

struct cells *cells_new(const struct cells_spec *spec);
/* Drops all requests without a reply. Accepts NULL, returns NULL. */
struct cells *cells_free(struct cells *c);

/* Runs cells over this connection from now on; borrowed. NULL = there is no connection, and cells wait. */
void cells_attach(struct cells *c, struct attach *attach, const char *session_id);

/* Shows this text on stderr of the next cell that fails, because it may explain the failure. */
void cells_tell(struct cells *c, const char *text);
/* Takes an execute_request. */
void cells_add(struct cells *c, struct request *request);
/* Takes an input_reply as the answer to the running cell's prompt. */
void cells_input(struct cells *c, const struct message *m);
/* Interrupts the running cell. */
void cells_interrupt(struct cells *c);
/* Aborts all cells, and starts a new interpreter. Takes the shutdown_request, and answers it when the interpreter has
 * started. */
void cells_restart(struct cells *c, struct request *request);

/* The request of the running cell; NULL = no cell runs. */
const struct request *cells_running(const struct cells *c);

#endif
