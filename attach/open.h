/* A connection to a session, wherever it is: to the server that has it; else, if that one is dead, to a manager of this process which
 * takes it over; or to a manager of this process and a fresh session. Whoever asks has one code path: attach/client.h. */
#ifndef HUSK_ATTACH_OPEN_H
#define HUSK_ATTACH_OPEN_H

#include "attach/client.h"

struct opening;
struct opened;

enum attach_how {
	ATTACH_SERVED,	/* another process has the session */
	ATTACH_ADOPTED, /* this one has taken it over: its server had ended */
	ATTACH_FRESH,	/* this one has made it, and it ends with it */
};

struct open_request {
	struct loop *loop;
	const struct config *config; /* must outlive what was opened */
	const char *session_id;	     /* NULL = a fresh one, and */
	/* what it is to be; borrowed for the call. on_output is used with its ctx, for what an installer says; on_done is not looked at. */
	const struct create_request *fresh;
	/* Once, from the loop. On success the caller owns *o. Kinds of failure: FAIL_NOT_FOUND (no such session), FAIL_BUSY with
	 * CAUSE_ATTACH_OFF (its server lives and lets nobody in) or CAUSE_SERVER_SILENT (it does not answer), and those of the
	 * manager's create and adoption. */
	void (*on_done)(void *ctx, struct opened *o, const struct fail *f);
	/* After that: the connection is gone, and all its calls were answered. The next opening may find the session elsewhere, or
	 * adopt it. opened_free() may be called from inside. May be NULL. */
	void (*on_lost)(void *ctx, const struct fail *f);
	void *ctx;
};

struct opening *attach_open(const struct open_request *request);
/* Before on_done, which is not called then. Accepts NULL. */
void attach_open_cancel(struct opening *o);

struct attach *opened_attach(struct opened *o);
const char *opened_session(const struct opened *o);
const char *opened_runtime(const struct opened *o); /* its name */
enum attach_how opened_how(const struct opened *o);

/* Before opened_free(), when a program ends: calls fn once, from the loop, when what was made here is written down, or after ms. */
void opened_settle(struct opened *o, uint64_t ms, void (*fn)(void *ctx), void *ctx);
/* Drops the connection and, if there is one of this process, the manager: a fresh session is told to go, an adopted one stays for the
 * next server. Accepts NULL, returns NULL. */
struct opened *opened_free(struct opened *o);

#endif
