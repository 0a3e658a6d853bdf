/* Shared by the files of this module: one transfer or request. */
#ifndef HUSK_KERNELS_FILES_FILES_PRIVATE_H
#define HUSK_KERNELS_FILES_FILES_PRIVATE_H

#include "kernels/files/files.h"

/* Small steps (examining a name, reading a piece, moving a file) in one turn of the loop: a few milliseconds. */
#define STEPS_A_TURN 256

enum phase {
	PHASE_RECEIVE, /* import: entries arrive */
	PHASE_COMMIT,
	PHASE_CLEAR,
	PHASE_PRODUCE, /* export */
	PHASE_LIST,
	PHASE_ERASE,
	PHASE_PASS,  /* a file is passed as a descriptor */
	PHASE_SERVE, /* a file is sent as data, once the manager has chosen a part */
};

struct file_call {
	struct list node;
	uint32_t number;
	enum phase phase;
	struct import *import;
	struct export *export;
	struct listing *listing;
	struct erasure *erasure;
	struct open_file *file;
	bool is_request; /* about files in place; else a transfer */
	char *path;	 /* of a request, for its errors */
	bool created;	 /* the request has created its path */
	bool orphan;
	bool below;		 /* import: the destination is a directory, and the import is placed in it */
	uint64_t window, credit; /* export and read: what the manager accepts at once, and what is left of it */
	uint32_t consumed;	 /* import: bytes not credited yet */
	uint64_t started_ms, clear_ms;
	const char *ending; /* NULL until it is known */
	const char *cause;  /* a word for programs; NULL = none */
	char *detail;
};

struct file_call *file_call_add(struct files *f, uint32_t number, bool is_request);
/* True if there are too many calls like this one, itself included. */
bool file_call_is_too_many(const struct files *f, const struct file_call *new);
/* Records how the call ends; takes `detail`. An import continues with clearing its staging directory; any other call
 * ends now. */
void file_call_conclude(struct files *f, struct file_call *c, const char *ending, char *detail);

/* Fields of a request: "" or 0 if the field is missing or has another type. */
const char *file_call_text(const json_t *fields, const char *name);
uint64_t file_call_number(const json_t *fields, const char *name);

/* ---- requests about files in place (files-requests.c) */

/* Each returns 0, or -EPROTO if the stream must be closed. */
int request_begin(struct files *f, const struct frame *frame);
int request_fetch(struct file_call *c, const struct frame *frame);
/* A file was written: sends its ITEM. 0 or -errno. */
int request_describe_written(struct files *f, struct file_call *c);
/* Does a little of the work. True if there is more to do now. The call may be gone. */
bool request_step(struct files *f, struct file_call *c);
/* Ends a request: 0, or -errno with a sentence that names its path. */
void request_conclude(struct files *f, struct file_call *c, int error);

#endif
