/* A connection to a manager that is somewhere else: in another process of the same user, or in this one behind a socketpair
 * (attach/open.h says where). Its calls are those of manager/manager.h, with the same requests and results and the same rules: a start
 * function returns a call and later has its callback called exactly once, never from inside the start function; or it returns NULL with
 * f filled and the callback is never called. A call is gone once its callback has returned.
 *
 * The connection's loss answers every call with FAIL_DIED and CAUSE_NO_SERVER. What the other end sends is not trusted: it is bounded
 * and checked, and a breach is a loss. Programs that use this ignore SIGPIPE (signals_new() does it). */
#ifndef HUSK_ATTACH_CLIENT_H
#define HUSK_ATTACH_CLIENT_H

#include "manager/manager.h"

struct attach;
struct attach_call;

/* What the other end says of itself. */
struct attach_hello {
	uint64_t version;
	uint64_t pid;	     /* of its process */
	bool has_session;    /* it has the session that was asked for */
	const char *runtime; /* of that session; NULL if it has none */
	const char *status;  /* likewise: as session_info has it */
};

struct attach_spec {
	struct loop *loop;
	int fd;			/* a stream socket; taken, on success and on failure */
	const char *session_id; /* which session is asked for in the hello; NULL = none. Calls name theirs anyway */
	/* The other end has answered. May be NULL: calls can be made before. */
	void (*on_hello)(void *ctx, const struct attach_hello *hello);
	/* The connection is gone, and f says why. Once, after all calls were answered; attach_free() may be called from inside. May be
	 * NULL. */
	void (*on_lost)(void *ctx, const struct fail *f);
	void *ctx;
};

/* NULL with errno set if the descriptor is unusable. */
struct attach *attach_new(const struct attach_spec *spec);
/* Who is told of the loss from now on, in the place of spec.on_lost. */
void attach_watch(struct attach *a, void (*on_lost)(void *ctx, const struct fail *f), void *ctx);
/* Calls are dropped without an answer, and the other end ends what they had begun. Accepts NULL, returns NULL. */
struct attach *attach_free(struct attach *a);

/* Its callback is not called any more, and the work behind it is interrupted, as op_cancel() has it. */
void attach_cancel(struct attach_call *call);

/* on_task is not looked at: nothing becomes a task here. A run of this connection belongs to it: its result carries no runs of others
 * (`earlier` is empty), and results of others do not carry it; whoever goes away ends it. */
struct attach_call *attach_run(struct attach *a, const struct run_request *req, struct fail *f);
/* Ends what a call of attach_run() has begun, as Ctrl-C does; its answer says how. */
void attach_interrupt(struct attach_call *call);

struct attach_call *attach_query(struct attach *a, const struct query_request *req, struct fail *f);
struct attach_call *attach_info(struct attach *a, const struct info_request *req, struct fail *f);

struct attach_list_request {
	/* The sessions of the conversation that is served, oldest first. */
	void (*on_done)(void *ctx, const struct session_info *v, size_t n, const struct fail *f);
	void *ctx;
};
struct attach_call *attach_list(struct attach *a, const struct attach_list_request *req, struct fail *f);

struct attach_call *attach_create(struct attach *a, const struct create_request *req, struct fail *f);
/* Imports of the caller's own files are opened here, with the rights of this process, unless they are open already; at most
 * ATTACH_FILES_MAX (4) of them. Blocks as long as open() does. CAUSE_OTHER_VERSION if the server is too old for them. */
struct attach_call *attach_copy(struct attach *a, const struct copy_request *req, struct fail *f);
struct attach_call *attach_exports(struct attach *a, const struct exports_request *req, struct fail *f);
struct attach_call *attach_read_export(struct attach *a, const struct read_request *req, struct fail *f);
struct attach_call *attach_run_text(struct attach *a, const struct run_text_request *req, struct fail *f);
/* A terminal; attach_cancel() hangs up. The functions below are those of manager.h for it. */
struct attach_call *attach_terminal(struct attach *a, const struct terminal_request *req, struct fail *f);
int attach_terminal_write(struct attach_call *call, const void *data, size_t n);
void attach_terminal_taken(struct attach_call *call, size_t n);
void attach_terminal_resize(struct attach_call *call, int rows, int cols);
struct attach_call *attach_stop(struct attach *a, const struct stop_request *req, struct fail *f);

#endif
