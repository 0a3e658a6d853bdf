/* A client's request, on the server's side: how to add a kind. A kind is a file served-*.c with a struct that
 * embeds `struct served` first, and an entry in the table of served.c. */
#ifndef HUSK_ATTACH_SERVED_H
#define HUSK_ATTACH_SERVED_H

#include <jansson.h>

#include "attach/wire.h"
#include "base/list.h"
#include "manager/manager.h"

struct served;

struct served_type {
	const char *name; /* the request's `op` */
	size_t size;	  /* size of the embedding struct, which starts zeroed */
	/* Starts the request. s->op may be set to the manager's operation, which a cancel then ends. request is
	 * valid during the call. -1 with f: f is the answer. May answer immediately, and then returns 0. */
	int (*start)(struct served *s, const json_t *request, struct fail *f);
	/* Handles INTERRUPT; NULL = op_interrupt(s->op). */
	void (*interrupt)(struct served *s);
	/* BYTES and NOTE of the client; NULL = dropped. */
	void (*on_bytes)(struct served *s, const void *data, size_t n);
	void (*on_note)(struct served *s, const json_t *note);
	/* The client has cancelled: ends work other than s->op. May be NULL. Not called if the manager was freed. */
	void (*cancel)(struct served *s);
	/* Releases its members, but not itself. May be NULL. */
	void (*release)(struct served *s);
};

/* The connection, as requests see it. */
struct served_host {
	struct conversation *conversation;
	const struct config *config;
	struct loop *loop;
	uint64_t client;   /* for run_request.client: runs belong to their client */
	struct list calls; /* of struct served */
	size_t n_calls;
	/* Open files of the request being started; closed afterwards. */
	int files[ATTACH_FILES_MAX];
	size_t n_files;
	void (*write)(struct served_host *host, const struct buf *frames);
	/* Bytes that may be written before the client reads more. */
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
/* served_answer*() and served_fail() end and free the request. They take ownership of `result`. If there is no room for
 * the answer, a failure is sent instead. */
void served_answer(struct served *s, json_t *result);
/* Frames that end with the request's ANSWER, from attach_put(); empty if it was too long. */
void served_answer_frames(struct served *s, const struct buf *frames);
/* Sends the content of a file before the answer. */
void served_answer_bytes(struct served *s, json_t *result, const void *data, size_t n);
void served_fail(struct served *s, const struct fail *f);
/* Sends a note, unless there is no room for it. Takes ownership of `note`. */
void served_note(struct served *s, json_t *note);
/* The same with frames from attach_put(); empty if the note was too long. */
void served_note_frames(struct served *s, const struct buf *frames);
/* stream is 1 or 2. */
void served_bytes(struct served *s, int stream, const void *data, size_t n);

/* --- for the connection -------------------------------------------------------------------------------------------- */
/* Handles a CALL: starts it, or answers with a failure. */
void served_begin(struct served_host *host, uint32_t number, const json_t *request);
/* NULL if the request has ended. */
struct served *served_find(struct served_host *host, uint32_t number);
void served_interrupt(struct served *s);
/* Cancels a request; no answer follows. */
void served_cancel(struct served *s);
/* Frees all requests without calling the manager, which may be freed. */
void served_drop_all(struct served_host *host);

#endif
