/* Opens a connection to a session wherever it is: to the server that has it; if that server is dead, to a manager
 * in this process that takes the session over; or to a manager in this process with a new session. Callers have
 * one code path: attach/client.h. */
#ifndef HUSK_ATTACH_OPEN_H
#define HUSK_ATTACH_OPEN_H

#include "attach/client.h"

struct opening;
struct opened;

enum attach_how {
	ATTACH_SERVED,	/* another process has the session */
	ATTACH_ADOPTED, /* this process took it over: its server had ended */
	ATTACH_FRESH,	/* this process created it, and it ends with the process */
};

struct open_request {
	struct loop *loop;
	const struct config *config; /* must outlive the opened object */
	const char *session_id;	     /* NULL = a new session */
	/* Options of a new session; borrowed during the call. Its on_output gets the installer's output; its on_done
	 * is ignored. */
	const struct create_request *fresh;
	/* Called once, from the loop. On success the caller owns *o. Failures: FAIL_NOT_FOUND (no such session),
	 * FAIL_BUSY with CAUSE_ATTACH_OFF (its server refuses clients) or CAUSE_SERVER_SILENT (it does not
	 * answer), and those of the manager's create and adoption. */
	void (*on_done)(void *ctx, struct opened *o, const struct fail *f);
	/* Called later if the connection is lost, after all its calls were answered. Opening again may find the
	 * session elsewhere, or adopt it. on_lost may call opened_free(), and may be NULL. */
	void (*on_lost)(void *ctx, const struct fail *f);
	void *ctx;
};

struct opening *attach_open(const struct open_request *request);
/* Cancels before on_done, which is then not called. Accepts NULL. */
void attach_open_cancel(struct opening *o);

struct attach *opened_attach(struct opened *o);
const char *opened_session(const struct opened *o);
const char *opened_runtime(const struct opened *o); /* its name */
enum attach_how opened_how(const struct opened *o);

/* For a program that ends, before opened_free(): calls fn once, from the loop, when all is stored or after ms. */
void opened_settle(struct opened *o, uint64_t ms, void (*fn)(void *ctx), void *ctx);
/* Drops the connection and the manager of this process, if there is one: a new session is stopped, an adopted one
 * keeps running for the next server. Accepts NULL, returns NULL. */
struct opened *opened_free(struct opened *o);

#endif
