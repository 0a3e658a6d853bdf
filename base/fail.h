/* A failure has a kind, a cause and sentences for its reader, a model or a person. Only faces turn these into
 * protocol or exit codes.
 *
 *	if (fd < 0)
 *		return fail_set(f, FAIL_ENGINE, "cannot open '%s': %m", path);
 *
 * Every function that takes a `struct fail *` returns 0 or more on success and -1 after filling it. Start from
 * `struct fail f = { 0 }`, release with AUTO(fail_release). */
#ifndef HUSK_BASE_FAIL_H
#define HUSK_BASE_FAIL_H

#include "base/defs.h"

enum fail_kind {
	FAIL_NONE = 0,
	FAIL_INVALID,	/* the request is invalid */
	FAIL_NOT_FOUND, /* no such session */
	FAIL_FOREIGN,	/* belongs to another conversation */
	FAIL_LIMIT,	/* a configured limit was reached */
	FAIL_BUSY,	/* too much queued, or owned by another server */
	FAIL_TIMEOUT,	/* one of our deadlines passed */
	FAIL_CANCELLED,
	FAIL_ENGINE,   /* the container engine is missing, refused or failed */
	FAIL_IMAGE,    /* the runtime's image is missing */
	FAIL_DIED,     /* the session's container is gone; the message is the reason */
	FAIL_STORE,    /* the database is down */
	FAIL_INSTALL,  /* the dependencies could not be installed; the message ends with the installer's output */
	FAIL_INTERNAL, /* a bug in Husk */
};

struct fail {
	enum fail_kind kind;
	int cause;     /* finer than the kind: an enum cause (manager/model/cause.h); 0 = none */
	char *message; /* what happened */
	char *hint;    /* what to do next; may be NULL */
};

void fail_release(struct fail *f);
/* Replaces an earlier failure. Like the next two functions it returns -1, so a caller can write `return
 * fail_set(…)`. */
int fail_set(struct fail *f, enum fail_kind kind, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Puts "<prefix>: " before the message. */
int fail_wrap(struct fail *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Sets the hint: what to do next. */
int fail_hint(struct fail *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Moves the failure: *from is empty afterwards. */
void fail_move(struct fail *to, struct fail *from);
void fail_copy(struct fail *to, const struct fail *from);

#endif
