/* One request to the API, from its head to the end of its answer.
 *
 * Routing, authentication, the search for the session and the decoding of parameters and body happen before the
 * route's handler is called. The handler answers exactly once, now or later, with one of the functions below. The
 * exchange is freed then. If the client disconnects before, the exchange's operation is cancelled, its `closed`
 * function is called, and the exchange is freed. */
#ifndef HUSK_API_EXCHANGE_H
#define HUSK_API_EXCHANGE_H

#include <jansson.h>

#include "api/caller.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/loop.h"
#include "http/request.h"
#include "http/target.h"
#include "manager/manager.h"

struct api;
struct replay;
struct reroute;
struct route;
struct exchange;

/* Stores answers before they are sent (replay.h). */
struct answer_keeper {
	/* Sends the answer later and returns true. False: the caller sends it. */
	bool (*keep)(struct exchange *x, int status, const struct http_fields *fields, const void *body, size_t n);
	/* The exchange is over. */
	void (*leave)(struct exchange *x);
};

#define CAPTURES_MAX 4
/* Limits of a JSON body, over TCP and on the unix socket. */
#define API_BODY_MAX (4u << 20)
#define API_LOCAL_BODY_MAX (16u << 20)

struct exchange {
	struct list node;
	struct api *api;
	struct http_request *request; /* NULL after the answer */
	const struct route *route;
	struct http_target target;
	const char *captures[CAPTURES_MAX]; /* the values of {…} in the route's path, in order */
	size_t rest;			    /* index of the first segment that {path...} matched */
	struct caller caller;
	char *origin; /* "http://ID--8080.localhost:8765": a browser uses this port of a session; NULL = our own */
	/* The session's conversation if the route names a session, else the caller's. */
	struct conversation *conversation;
	char *session;		   /* full id, or as the client wrote it if this server does not have the session yet */
	json_t *query_json, *body; /* the decoded structs point into them */
	void *query, *args;	   /* structs of the route's tables; NULL = the route has no such table */
	struct op *op;		   /* NULL once its callback is called: exchange_resume() */
	void *data;		   /* for the handler */
	/* The client has disconnected, or the exchange is over: releases `data`. May be NULL. Must not answer. */
	void (*closed)(struct exchange *x);
	void (*next)(struct exchange *x);	/* the step that follows an operation of auth.c, lookup.c or replay.c */
	void (*after_link)(struct exchange *x); /* likewise, after links_check() */
	const struct answer_keeper *keeper;	/* NULL = answers are sent at once */
	struct replay *replay;			/* for the keeper */
	struct reroute *reroute;		/* likewise (reroute.c) */
	const char *path;			/* the route's, for the log; NULL = unknown */
	bool streams;				/* the answer will be a stream of events */
	bool is_stream;				/* the answer is one, and counts for the limit of its key */
	char *slot;				/* its place among the streams of the tenant; NULL = none is needed */
	/* For runs_fetch(). */
	uint64_t run;
	void (*on_run)(struct exchange *x, const struct run_record *record);
	bool taken_over; /* the session is here, and everything of it is known */
	uint64_t started_ms;
	/* A problem that is sent when the timer fires (exchange_fail()). */
	json_t *late;
	struct timer *late_timer;
};

/* The value of the header; NULL = missing. The name is in lower case. */
const char *exchange_field(const struct exchange *x, const char *name);
/* The path and the query as the client wrote them, without the origin that proxies send in front ("http://host"). */
const char *exchange_target(const struct exchange *x);
/* True if the client prefers this type to JSON (Accept). */
bool exchange_accepts(const struct exchange *x, const char *type);

/* The tenant that the request is about: the one that it names, or the caller's. NULL if it is not the caller's to name;
 * the exchange is answered then. */
const char *exchange_tenant(struct exchange *x, const char *named);

/* --- operations of the handler --- */
/* Keeps the operation that the handler has started. NULL = it was refused with f, which is the answer then. */
void exchange_await(struct exchange *x, struct op *op, const struct fail *f);
/* The first call of the operation's callback: the operation is over. False: it failed with f, which was the answer. */
bool exchange_resume(struct exchange *x, const struct fail *f);
/* The callback of operations without a result; ctx is the exchange. Answers with 204, or with the failure. */
void exchange_on_done(void *ctx, const struct fail *f);

/* --- answers: each of them frees the exchange --- */
/* Takes the body. */
void exchange_reply(struct exchange *x, int status, json_t *body);
/* The same with more fields; fields may be NULL. */
void exchange_reply_fields(struct exchange *x, int status, struct http_fields *fields, json_t *body);
/* A body that is not JSON, or JSON that is already text. */
void exchange_reply_text(struct exchange *x, int status, struct http_fields *fields, const char *type, const void *body,
			 size_t n);
void exchange_reply_empty(struct exchange *x, int status);
/* Answers with problem details (RFC 9457). Texts about the host are left out for callers over TCP. They get a 404 a fixed
 * time after their request, so that its time does not tell a missing object from one of another tenant. */
void exchange_fail(struct exchange *x, const struct fail *f);
/* Likewise with the list of active sessions, as after a limit. */
void exchange_fail_active(struct exchange *x, const struct fail *f, const struct session_info *active, size_t n);
/* A problem of HTTP itself: no fail kind of ours fits. */
void exchange_problem(struct exchange *x, int status, const char *detail, const char *hint);
/* Takes the body, problem details. fields may be NULL. */
void exchange_reply_problem(struct exchange *x, int status, struct http_fields *fields, json_t *problem);
/* --- answers that the handler sends piece by piece through `request` --- */
/* Sends the head, as http_reply_begin() does. False: no body may follow; call exchange_finish(). */
bool exchange_begin(struct exchange *x, int status, struct http_fields *fields, int64_t length);
/* Logs the status of an answer that is sent by other means. */
void exchange_note_status(const struct exchange *x, int status);
/* The body is complete. Frees the exchange. */
void exchange_finish(struct exchange *x);
/* The body cannot be completed: the client sees a broken connection. Frees the exchange. */
void exchange_abort(struct exchange *x);
/* Frees the exchange after an answer that the handler sent through `request` itself, or after it gave the connection
 * away. */
void exchange_end(struct exchange *x);

/* --- for steps.c, replay.c and server.c --- */
/* Sends an answer that is complete. */
void exchange_send(struct exchange *x, int status, const struct http_fields *fields, const void *body, size_t n);
struct exchange *exchange_new(struct api *api, struct http_request *r);
/* Frees all exchanges without using the manager, which may be freed. */
void exchanges_drop(struct api *api);

#endif
