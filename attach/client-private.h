/* How to add a kind of call. A kind is a struct that embeds `struct attach_call`; its start function describes a request
 * and hands both to attach_call_start(). */
#ifndef HUSK_ATTACH_CLIENT_PRIVATE_H
#define HUSK_ATTACH_CLIENT_PRIVATE_H

#include <jansson.h>

#include "attach/client.h"
#include "base/buf.h"
#include "base/list.h"
#include "http/client.h"
#include "http/events.h"

/* Calls at the same time. */
#define ATTACH_CALLS_MAX 64
/* Bytes of one request and of one answer. */
#define ATTACH_REQUEST_MAX (16u << 20)
#define ATTACH_ANSWER_MAX (64u << 20)

struct attach_call_type {
	/* Called once with the answer, NULL = no content; the call is freed afterwards. Returns -1 with f if the answer
	 * is invalid. The user's callback was not called then, and on_fail() follows. */
	int (*on_answer)(struct attach_call *call, const json_t *json, struct fail *f);
	void (*on_fail)(struct attach_call *call, const struct fail *f);
	/* Events before the answer, if the answer is a stream. Puts the answer into call->body. May be NULL. */
	void (*on_event)(struct attach_call *call, const struct http_event *e);
	/* attach_cancel() was called: ends work other than the request. May be NULL. */
	void (*on_cancel)(struct attach_call *call);
	/* Frees everything, including itself. */
	void (*free)(struct attach_call *call);
};

struct attach_call {
	const struct attach_call_type *type;
	struct list node;
	struct attach *attach;
	struct http_call *http; /* NULL = it has no request of its own */
	int status;
	struct buf body;
	struct http_event_reader reader; /* used if the answer is a stream */
	bool streams, feeding, dropped;
};

struct attach {
	struct loop *loop;
	struct local_server *server;
	char *path;
	int fd; /* the first connection; -1 = used or none */
	struct http_client *http;
	char token[33];	   /* names this program to the server, for the field Husk-Client */
	struct list calls; /* of struct attach_call */
	size_t n_calls;
	struct list runs; /* of struct run_stream */
	struct http_call *watch;
	void (*on_lost)(void *ctx, const struct fail *f);
	void *lost_ctx;
	struct timer *timer; /* reports the loss */
	struct fail loss;    /* no kind while the server is there */
	unsigned depth;	     /* callbacks that are running */
	bool freed;	     /* attach_free() from a callback waits for it to return */
};

struct attach_request {
	const char *method;
	const char *target;
	json_t *body;	  /* taken; NULL = none */
	bool events;	  /* the answer may be a stream of events */
	const int *files; /* open files to send; borrowed during the call */
	size_t n_files;
};

/* Takes the call (frees it on failure) and the request's body. NULL with f if the server is lost, too many calls wait, or
 * the request is too long. */
struct attach_call *attach_call_start(struct attach *a, struct attach_call *call, const struct attach_call_type *type,
				      const struct attach_request *request, struct fail *f);
/* The same for a call without a request of its own. */
struct attach_call *attach_call_add(struct attach *a, struct attach_call *call, const struct attach_call_type *type,
				    struct fail *f);
/* Ends a call: calls on_answer with the JSON, or on_fail, and frees it. */
void attach_call_answer(struct attach_call *call, const json_t *json);
void attach_call_fail(struct attach_call *call, const struct fail *f);
/* The target of a session's resource; the caller releases it. rest: "/runs", or "". */
struct buf attach_target(const char *session_id, const char *rest);
/* Fields that every request has. */
void attach_fields(const struct attach *a, struct http_fields *fields);
/* Prints the body of a request. -1 with f if it is too long. Takes the JSON. */
int attach_print(struct buf *out, json_t *json, struct fail *f);
/* The failure in an answer with this status. */
void attach_problem(int status, const struct buf *body, struct fail *f);
/* The server is gone: reported from the loop. */
void attach_lose(struct attach *a, const char *why);
void attach_enter(struct attach *a);
void attach_leave(struct attach *a);
/* For client-run.c: the object is freed, or the server is lost. */
void attach_runs_drop(struct attach *a);

#endif
