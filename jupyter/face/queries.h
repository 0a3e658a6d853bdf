/* What clients ask of the interpreter beside cells: completion, help, and whether code is whole. It is asked only while it is idle; whoever
 * asks at another time, or of a language that cannot say, gets an empty answer. */
#ifndef HUSK_JUPYTER_FACE_QUERIES_H
#define HUSK_JUPYTER_FACE_QUERIES_H

#include "attach/client.h"
#include "jupyter/face/request.h"

struct queries;

struct queries_spec {
	struct channels *channels;
	/* The request was answered; it is the callee's now. */
	void (*on_answered)(void *ctx, struct request *request);
	void *ctx;
};

struct queries *queries_new(const struct queries_spec *spec);
/* Accepts NULL, returns NULL. */
struct queries *queries_free(struct queries *a);
/* As cells_attach(). */
void queries_attach(struct queries *a, struct attach *attach, const char *session_id);
/* Takes a complete_request, inspect_request or is_complete_request. */
void queries_add(struct queries *a, struct request *request);

#endif
