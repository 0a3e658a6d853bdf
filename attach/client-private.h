/* A call on the client's side: how one kind of call is added. A kind is in a file client-*.c, with a struct that embeds `struct
 * attach_call`; its start function makes a request and hands both to attach_call_start(). */
#ifndef HUSK_ATTACH_CLIENT_PRIVATE_H
#define HUSK_ATTACH_CLIENT_PRIVATE_H

#include <jansson.h>

#include "attach/client.h"
#include "base/list.h"

struct attach_call_type {
	const char *op;
	/* The one answer; the call is freed after it. -1 with f, if the result makes no sense and nobody was told anything: on_fail()
	 * follows. */
	int (*on_answer)(struct attach_call *call, const json_t *result, struct fail *f);
	void (*on_fail)(struct attach_call *call, const struct fail *f);
	/* On the way; stream is 1 or 2. NULL = they are dropped. */
	void (*on_bytes)(struct attach_call *call, int stream, const void *data, size_t n);
	void (*on_note)(struct attach_call *call, const json_t *note);
	/* Frees all that it holds, itself included. */
	void (*free)(struct attach_call *call);
};

struct attach_call {
	const struct attach_call_type *type;
	struct list node;
	struct attach *attach;
	uint32_t number;
	/* Open files that go along with the request; borrowed for the start. */
	const int *files;
	size_t n_files;
};

/* Takes the call (on failure it is freed) and the request, to which `op` is added. NULL with f if there is no connection, too many calls
 * wait for their answers, or the request is too long. */
struct attach_call *attach_call_start(struct attach *a, struct attach_call *call, const struct attach_call_type *type,
				      json_t *request, struct fail *f);
/* note is taken. */
void attach_call_note(struct attach_call *call, json_t *note);
void attach_call_bytes(struct attach_call *call, const void *data, size_t n);

#endif
