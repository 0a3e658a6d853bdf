/* A Jupyter kernel for one session of any language: receives the requests of clients and answers them. */
#ifndef HUSK_JUPYTER_FACE_FACE_H
#define HUSK_JUPYTER_FACE_FACE_H

#include "attach/client.h"
#include "jupyter/connection.h"

struct face;

struct face_spec {
	struct loop *loop;
	const struct connection *connection;
	const struct sender_id *id;
	const struct runtime *runtime;
	bool owns; /* the face created the session, and a shutdown ends both */
	/* Called once, when a client has shut the kernel down (why is NULL) or the session has ended. The callback
	 * must not free the face. */
	void (*on_end)(void *ctx, const char *why);
	void *ctx;
};

/* Clients can connect from now on, and are served once there is a session. -1 with f if a socket cannot be bound. */
int face_open(struct face **ret, const struct face_spec *spec, struct fail *f);
/* Accepts NULL, returns NULL. Calls in progress belong to the connection, which may drop them before or after this. */
struct face *face_free(struct face *face);

/* Serves the session over this connection; borrowed. NULL = there is no connection for now. */
void face_attach(struct face *face, struct attach *attach, const char *session_id);
/* Text to show with the next cell that fails. */
void face_tell(struct face *face, const char *text);
/* Does the same as an interrupt_request. */
void face_interrupt(struct face *face);

#endif
