/* A call that a peer has made, on the server's side: how one kind of call is added. A kind is a file served-*.c with a struct that embeds
 * `struct served` first, and an entry in served.c's table. */
#ifndef HUSK_ATTACH_SERVED_H
#define HUSK_ATTACH_SERVED_H

#include <jansson.h>

#include "attach/wire.h"
#include "base/list.h"
#include "manager/manager.h"

struct served;

struct served_type {
	const char *name; /* `op` of the call */
	size_t size;	  /* of the struct that embeds it; it starts as zeroes */
	/* Starts it: s->op may be set to what the manager has begun, which a cancel then ends. request is valid during the call. -1 with
	 * f: it is answered with that. May answer at once, and then returns 0. */
	int (*start)(struct served *s, const json_t *request, struct fail *f);
	/* INTERRUPT; NULL = op_interrupt(s->op). */
	void (*interrupt)(struct served *s);
	/* BYTES and NOTE of the client; NULL = they are dropped. */
	void (*on_bytes)(struct served *s, const void *data, size_t n);
	void (*on_note)(struct served *s, const json_t *note);
	/* Nobody waits any more: ends what it has begun, where that is not s->op. May be NULL. Not called if the manager is gone. */
	void (*cancel)(struct served *s);
	/* Releases what it holds, but not itself. May be NULL. */
	void (*release)(struct served *s);
};

/* Who is served: what calls need of a connection. */
struct served_host {
	struct conversation *conversation;
	const struct config *config;
	struct loop *loop;
	uint64_t client;   /* for run_request.client: what it runs is its own */
	struct list calls; /* of struct served */
	size_t n_calls;
	/* Open files that came along with the call that is being started; closed after that. */
	int files[ATTACH_FILES_MAX];
	size_t n_files;
	void (*write)(struct served_host *host, const struct buf *frames);
	/* Bytes that may be written before it has read more. */
	size_t (*room)(const struct served_host *host);
};

struct served {
	const struct served_type *type;
	struct list node;
	struct served_host *host;
	uint32_t number;
	struct op *op;
};

/* --- for kinds of calls -------------------------------------------------------------------------------------------- */
/* These three end the call and free it. json is taken. An answer for which there is no room is a failure instead. */
void served_answer(struct served *s, json_t *result);
/* Frames that end with the call's ANSWER, as attach_put() made them; none if it was too long. */
void served_answer_frames(struct served *s, const struct buf *frames);
/* With what a file holds, before it. */
void served_answer_bytes(struct served *s, json_t *result, const void *data, size_t n);
void served_fail(struct served *s, const struct fail *f);
/* Left out if there is no room for it. */
void served_note(struct served *s, json_t *note);
/* As attach_put() made them; none = it was too long. */
void served_note_frames(struct served *s, const struct buf *frames);
/* stream is 1 or 2. */
void served_bytes(struct served *s, int stream, const void *data, size_t n);

/* --- for the connection -------------------------------------------------------------------------------------------- */
/* A CALL: starts it, or answers that it cannot be. */
void served_begin(struct served_host *host, uint32_t number, const json_t *request);
/* NULL if it has ended. */
struct served *served_find(struct served_host *host, uint32_t number);
void served_interrupt(struct served *s);
/* No answer follows. */
void served_cancel(struct served *s);
/* All of them, without a word to the manager, which may be gone. */
void served_drop_all(struct served_host *host);

#endif
