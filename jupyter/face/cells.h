/* The cells that clients want run, one after the other: each is a run of the session, with its limits and its place in the session's own
 * queue. Also new interpreters, which wait for their turn like cells. */
#ifndef HUSK_JUPYTER_FACE_CELLS_H
#define HUSK_JUPYTER_FACE_CELLS_H

#include "attach/client.h"
#include "jupyter/face/publisher.h"

struct cells;

struct cells_spec {
	struct channels *channels;
	struct publisher *publisher;
	/* The session has ended, and what was asked of it was answered. Once. */
	void (*on_gone)(void *ctx, const char *why);
	void *ctx;
};

struct cells *cells_new(const struct cells_spec *spec);
/* Nobody is answered any more. Accepts NULL, returns NULL. */
struct cells *cells_free(struct cells *c);

/* Where they run from now on; borrowed. NULL = nowhere for now: they wait. */
void cells_attach(struct cells *c, struct attach *attach, const char *session_id);

/* Shown on stderr of the next cell that fails: it may be why. */
void cells_tell(struct cells *c, const char *text);
/* An execute_request, which is taken. */
void cells_add(struct cells *c, struct request *request);
/* An input_reply. */
void cells_input(struct cells *c, const struct message *m);
/* Ends what runs. */
void cells_interrupt(struct cells *c);
/* Ends all, and starts a new interpreter. The shutdown_request is taken, and answered when it is there. */
void cells_restart(struct cells *c, struct request *request);

/* The request whose cell runs; NULL = none. */
const struct request *cells_running(const struct cells *c);

#endif
