/* Client side of a request: how to add a kind. A kind is a file client-*.c with a struct that embeds `struct
 * attach_call`; its start function builds a request and hands both to attach_call_start(). */
#ifndef HUSK_ATTACH_CLIENT_PRIVATE_H
#define HUSK_ATTACH_CLIENT_PRIVATE_H

#include <jansson.h>

#include "attach/client.h"
#include "base/list.h"

struct attach_call_type {
	const char *op;
	/* Called once with the answer; the call is freed afterwards. Returns -1 with f if the result is invalid. The
	 * user's callback was not called then, and on_fail() follows. */
	int (*on_answer)(struct attach_call *call, const json_t *result, struct fail *f);
	void (*on_fail)(struct attach_call *call, const struct fail *f);
	/* Data before the answer; stream is 1 or 2. NULL = dropped. */
	void (*on_bytes)(struct attach_call *call, int stream, const void *data, size_t n);
	void (*on_note)(struct attach_call *call, const json_t *note);
	/* Frees everything, including itself. */
	void (*free)(struct attach_call *call);
};

struct attach_call {
	const struct attach_call_type *type;
	struct list node;
	struct attach *attach;
	uint32_t number;
	/* Open files to send with the request; borrowed during the start. */
	const int *files;
	size_t n_files;
};

/* Takes the call (frees it on failure) and the request, to which `op` is added. NULL with f if there is no
 * connection, too many requests wait for answers, or the request is too long. */
struct attach_call *attach_call_start(struct attach *a, struct attach_call *call, const struct attach_call_type *type,
				      json_t *request, struct fail *f);
/* Sends a NOTE, and takes ownership of the object. */
void attach_call_note(struct attach_call *call, json_t *note);
void attach_call_bytes(struct attach_call *call, const void *data, size_t n);

#endif
