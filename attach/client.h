/* Uses the manager of another process of the same user, or of this process (attach/open.h decides), through the HTTP API
 * on its unix socket. It has the requests and results of manager/manager.h, with the same rules. A start function returns
 * a call and later calls its callback exactly once, never from inside the start function; or it returns NULL with f
 * filled and never calls back. A call is freed once its callback has returned.
 *
 * If the server is lost, every call is answered with FAIL_DIED and CAUSE_NO_SERVER. Data from the other end is
 * untrusted: it is bounded and checked. Programs that use this must ignore SIGPIPE (signals_new() does). */
#ifndef HUSK_ATTACH_CLIENT_H
#define HUSK_ATTACH_CLIENT_H

#include <jansson.h>

#include "manager/manager.h"

struct attach;
struct attach_call;
struct local_server;

struct attach_spec {
	struct loop *loop;
	/* One of the two. */
	const char *path;	     /* path of the server's socket */
	struct local_server *server; /* a server of this process, which must outlive the calls */
	int fd;			     /* the first connection to the path; -1 = none yet. Taken */
};

struct attach *attach_new(const struct attach_spec *spec);
/* Drops calls without an answer; the other end ends their work. Accepts NULL, returns NULL. */
struct attach *attach_free(struct attach *a);
/* From now on, the end of the server is noticed even while no call waits. on_lost is called once, after all calls were
 * answered; f says why. It may call attach_free(). The session must be one of the server's. */
void attach_watch(struct attach *a, const char *session_id, void (*on_lost)(void *ctx, const struct fail *f),
		  void *ctx);
/* Cancels a call: its callback is not called any more, and its operation is interrupted, as with op_cancel(). */
void attach_cancel(struct attach_call *call);

struct attach_find_request {
	const char *session_id;
	/* f: the server does not have the session, or refuses the program. */
	void (*on_done)(void *ctx, const struct session_info *info, const struct fail *f);
	void *ctx;
};
/* Whether the server has the session now. The server takes nothing over, and asks nobody. */
struct attach_call *attach_find(struct attach *a, const struct attach_find_request *req, struct fail *f);

/* on_task, on_heavy and on_started are ignored. A run belongs to this object: its result does not include other runs
 * (`earlier` is empty), and their results do not include it. If the program ends, the run ends. Only runs that were
 * started here can be waited for and answered, others only interrupted. A result has the texts and displays since the
 * start, or since the last prompt. */
struct attach_call *attach_run(struct attach *a, const struct run_request *req, struct fail *f);
/* Interrupts a run of attach_run(), as Ctrl-C does. The answer says how the run ended. */
void attach_interrupt(struct attach_call *call);

struct attach_call *attach_query(struct attach *a, const struct query_request *req, struct fail *f);
struct attach_call *attach_checkpoint(struct attach *a, const struct checkpoint_request *req, struct fail *f);
struct attach_call *attach_info(struct attach *a, const struct info_request *req, struct fail *f);
/* The caller's files are opened here with the rights of this process, unless they are open already; at most
 * ATTACH_FILES_MAX. Blocks as long as open() does. */
#define ATTACH_FILES_MAX 4
struct attach_call *attach_copy(struct attach *a, const struct copy_request *req, struct fail *f);
/* A terminal; attach_cancel() hangs up. The functions below mirror those of manager.h. */
struct attach_call *attach_terminal(struct attach *a, const struct terminal_request *req, struct fail *f);
int attach_terminal_write(struct attach_call *call, const void *data, size_t n);
void attach_terminal_taken(struct attach_call *call, size_t n);
void attach_terminal_resize(struct attach_call *call, int rows, int cols);

struct attach_port_request {
	const char *session_id;
	uint16_t port;
	int fd; /* a connected stream socket, which is duplicated: the caller closes its own */
	/* The connection has ended, or f says why it was not made. */
	void (*on_done)(void *ctx, const struct fail *f);
	void *ctx;
};
/* Joins the socket to a server in the session, as manager_port() does. attach_cancel() resets it. */
struct attach_call *attach_port(struct attach *a, const struct attach_port_request *req, struct fail *f);
struct attach_events_request {
	const char *session_id;
	const char *only; /* a kind of events */
	uint64_t after;	  /* only events after this number */
	/* Events as JSON, at most some hundreds, valid during the call; none follow if there are none. The later ones are
	 * after `next`. */
	void (*on_done)(void *ctx, const json_t *events, uint64_t next, const struct fail *f);
	void *ctx;
};
struct attach_call *attach_events(struct attach *a, const struct attach_events_request *req, struct fail *f);
struct attach_call *attach_network(struct attach *a, const struct network_request *req, struct fail *f);
struct attach_call *attach_stop(struct attach *a, const struct stop_request *req, struct fail *f);

#endif
