/* Queries of clients to the interpreter: completion, help, and whether code is complete. They are sent only while the
 * interpreter is idle. At other times, and for a language that cannot answer, the reply is empty. */
#ifndef HUSK_JUPYTER_FACE_QUERIES_H
#define HUSK_JUPYTER_FACE_QUERIES_H

#include "attach/client.h"
#include "jupyter/face/request.h"

struct queries;

struct queries_spec {
	struct channels *channels;
	/* The request was answered; the callback takes ownership of it. */
	void (*on_answered)(void *ctx, struct request *request);
	void *ctx;
};

struct queries *queries_new(const struct queries_spec *spec);
/* Accepts NULL, returns NULL. */
struct queries *queries_free(struct queries *a);
/* Does the same as cells_attach(). */
void queries_attach(struct queries *a, struct attach *attach, const char *session_id);
/* Takes a complete_request, inspect_request or is_complete_request. */
void queries_add(struct queries *a, struct request *request);

#endif
