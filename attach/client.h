/* A connection to a manager in another process of the same user, or in this process behind a socketpair
 * (attach/open.h decides). It has the requests and results of manager/manager.h, with the same rules. A start
 * function returns a call and later calls its callback exactly once, never from inside the start function; or it
 * returns NULL with f filled and never calls back. A call is freed once its callback has returned.
 *
 * If the connection is lost, every call is answered with FAIL_DIED and CAUSE_NO_SERVER. Data from the other end is
 * untrusted: it is bounded and checked, and a violation ends the connection. Programs that use this must ignore
 * SIGPIPE (signals_new() does). */
#ifndef HUSK_ATTACH_CLIENT_H
#define HUSK_ATTACH_CLIENT_H

#include "manager/manager.h"

struct attach;
struct attach_call;

/* The other end's hello. */
struct attach_hello {
	uint64_t version;
	uint64_t pid;	     /* the server's process */
	bool has_session;    /* the server has the requested session */
	const char *runtime; /* that session's language; NULL without a session */
	const char *status;  /* as in session_info; NULL without a session */
};

struct attach_spec {
	struct loop *loop;
	int fd; /* a stream socket; taken on success and on failure */
	const char
		*session_id; /* the session requested in the hello; NULL = none. Each request names its own session */
	/* The other end has answered the hello. May be NULL, because requests can be made before that. */
	void (*on_hello)(void *ctx, const struct attach_hello *hello);
	/* The connection is gone, and f says why. Called once, after all calls were answered; may call
	 * attach_free(). May be NULL. */
	void (*on_lost)(void *ctx, const struct fail *f);
	void *ctx;
};

/* NULL with errno set if the descriptor is unusable. */
struct attach *attach_new(const struct attach_spec *spec);
/* Replaces spec.on_lost. */
void attach_watch(struct attach *a, void (*on_lost)(void *ctx, const struct fail *f), void *ctx);
/* Drops calls without an answer; the other end ends their work. Accepts NULL, returns NULL. */
struct attach *attach_free(struct attach *a);

/* Cancels a call: its callback is not called any more, and its operation is interrupted, as with op_cancel(). */
void attach_cancel(struct attach_call *call);

/* on_task is ignored: nothing becomes a task here. A run belongs to this connection: its result does not include
 * other runs (`earlier` is empty), and their results do not include it. If the client disconnects, the run ends. */
struct attach_call *attach_run(struct attach *a, const struct run_request *req, struct fail *f);
/* Interrupts a run of attach_run(), as Ctrl-C does. The answer says how the run ended. */
void attach_interrupt(struct attach_call *call);

struct attach_call *attach_query(struct attach *a, const struct query_request *req, struct fail *f);
struct attach_call *attach_info(struct attach *a, const struct info_request *req, struct fail *f);

struct attach_list_request {
	/* The sessions of the served conversation, oldest first. */
	void (*on_done)(void *ctx, const struct session_info *v, size_t n, const struct fail *f);
	void *ctx;
};
struct attach_call *attach_list(struct attach *a, const struct attach_list_request *req, struct fail *f);

struct attach_call *attach_create(struct attach *a, const struct create_request *req, struct fail *f);
/* The caller's files are opened here with the rights of this process, unless they are open already; at most
 * ATTACH_FILES_MAX (4). Blocks as long as open() does. CAUSE_OTHER_VERSION if the server is too old for them. */
struct attach_call *attach_copy(struct attach *a, const struct copy_request *req, struct fail *f);
struct attach_call *attach_exports(struct attach *a, const struct exports_request *req, struct fail *f);
struct attach_call *attach_read_export(struct attach *a, const struct read_request *req, struct fail *f);
struct attach_call *attach_run_text(struct attach *a, const struct run_text_request *req, struct fail *f);
/* A terminal; attach_cancel() hangs up. The functions below mirror those of manager.h. */
struct attach_call *attach_terminal(struct attach *a, const struct terminal_request *req, struct fail *f);
int attach_terminal_write(struct attach_call *call, const void *data, size_t n);
void attach_terminal_taken(struct attach_call *call, size_t n);
void attach_terminal_resize(struct attach_call *call, int rows, int cols);
struct attach_call *attach_stop(struct attach *a, const struct stop_request *req, struct fail *f);

#endif
