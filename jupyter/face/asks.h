/* What clients ask of the interpreter beside cells: completion, help, and whether code is whole. It is asked only while it is idle; whoever
 * asks at another time, or of a language that cannot say, gets an empty answer. */
#ifndef HUSK_JUPYTER_FACE_ASKS_H
#define HUSK_JUPYTER_FACE_ASKS_H

#include "attach/client.h"
#include "jupyter/face/request.h"

struct asks;

struct asks_spec {
	struct channels *channels;
	/* The request was answered; it is the callee's now. */
	void (*on_answered)(void *ctx, struct request *request);
	void *ctx;
};

struct asks *asks_new(const struct asks_spec *spec);
/* Accepts NULL, returns NULL. */
struct asks *asks_free(struct asks *a);
/* As cells_attach(). */
void asks_attach(struct asks *a, struct attach *attach, const char *session_id);
/* Takes a complete_request, inspect_request or is_complete_request. */
void asks_add(struct asks *a, struct request *request);

#endif
