/* A Jupyter kernel for one session, whatever its runtime: what clients ask, and how it is answered. */
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
	bool owns; /* the session is its own, and a shutdown ends both; else only the interpreter */
	/* It has done what it could: a client has shut it down, or (why) the session has ended. Once. It must not be freed from inside. */
	void (*on_end)(void *ctx, const char *why);
	void *ctx;
};

/* Clients can connect from now on, and are served once there is a session. -1 with f if it cannot listen. */
int face_open(struct face **ret, const struct face_spec *spec, struct fail *f);
/* Accepts NULL, returns NULL. What it has begun on a connection is the connection's to drop, before or after this. */
struct face *face_free(struct face *face);

/* Where the session is to be had; borrowed. NULL = nowhere for now. */
void face_attach(struct face *face, struct attach *attach, const char *session_id);
/* Shown with the next cell that fails. */
void face_tell(struct face *face, const char *text);
/* As an interrupt_request does. */
void face_interrupt(struct face *face);

#endif
