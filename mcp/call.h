/* One request in flight. It is answered exactly once or cancelled; either frees it. A cancelled call sends nothing more.
 *
 * If the client gave a token, progress is sent: the last lines of live output, at most two messages a second, and a sign of life
 * every five seconds while nothing is printed. Its numbers always rise. What is pending when the answer comes is dropped: clients lose
 * a progress message that arrives in the same read as the answer. */
#ifndef HUSK_MCP_CALL_H
#define HUSK_MCP_CALL_H

#include <jansson.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/loop.h"
#include "mcp/version.h"

struct call;
struct op;

/* How a call reaches its peer. */
struct call_ops {
	/* The one answer, a message as JSON text. The call is freed once this returns. */
	void (*reply)(void *ctx, struct call *call, const struct buf *text);
	/* Best effort: may be dropped. Takes the message. */
	void (*progress)(void *ctx, json_t *message);
	/* The call goes away, answered or not: forget it. */
	void (*closed)(void *ctx, struct call *call);
};

struct call {
	json_t *id;
	char *key; /* rpc_id_key() of the id */
	const struct revision *revision;
	const char *method;    /* the name; static */
	const char *tool_name; /* likewise; NULL = no tool */
	struct list link;      /* both for whoever owns the call */
	void *batch;
	json_t *capabilities; /* of its client; NULL = none */
	bool listening;	      /* a subscription: open until cancelled */
	json_t *task_ids;     /* what it listens to, or is about to; NULL = no tasks */
	bool knows_tasks;     /* its client does, and so may be answered with one */

	json_t *args; /* what the decoded arguments borrow from */
	void *decoded;
	struct op *op; /* the manager's work behind it; cancelled with the call */
	const void *tool;
	const void *env;
	void *data; /* its method's own, released with it */
	void (*data_free)(void *data);
	struct fail failure; /* to be told once the list of sessions is complete */
	const char *failed_session;

	/* Private. */
	const struct call_ops *ops;
	void *ctx;
	bool replied;
	int error_code;	 /* of the answer; 0 = a result */
	bool tool_error; /* a result that says isError */
	json_t *token;
	struct timer *timer;
	struct buf tail; /* the last bytes of live output */
	bool output_pending;
	struct later *later; /* the work that makes its answer; NULL = none */
	int64_t progress;
	uint64_t started_ms;
	uint64_t last_ms; /* of the last progress message, or the start */
};

/* References id. Never fails. */
struct call *call_new(const struct call_ops *ops, void *ctx, json_t *id, const struct revision *revision);
/* Sends progress from now on, with this token (a string or an integer, referenced). */
void call_set_progress(struct call *c, struct loop *loop, json_t *token);
/* Both answer and free the call; result and data are taken. What every modern result must carry is added, resultType unless it has one. */
void call_reply(struct call *c, json_t *result);
void call_reply_error(struct call *c, int code, const char *message, json_t *data);
/* The same; the result gets one more member, whose value is JSON text: large values that are text already are not parsed. */
void call_reply_with(struct call *c, json_t *result, const char *name, const char *json);
/* Answers with what `make` returns, a new reference. It runs in a worker, which also prints the result, and touches only ctx;
 * `release` frees ctx, on the loop, whether the call is answered or cancelled meanwhile. For what is too much for the loop. */
struct call_work {
	json_t *(*make)(void *ctx);
	void (*release)(void *ctx);
	void *ctx;
	bool bulk;	     /* waits for a disk rather than computing; see base/work.h */
	const char *session; /* whose data it is made of (base/work.h); copied */
};
void call_reply_later(struct call *c, struct loop *loop, const struct call_work *work);
/* What modern results of lists and reads must carry; for older revisions nothing. */
void call_set_cache_hints(const struct revision *revision, json_t *result, json_int_t ttl_ms, const char *scope);
/* Stops the work behind it and frees the call; nothing is sent. */
void call_cancel(struct call *c);
/* Takes live output. */
void call_output(struct call *c, const char *text, size_t n);

/* Name, version and title of this server, as the revision has it. New reference. */
json_t *call_server_info(const struct revision *revision);
/* The last lines of some output as one progress message; "" if there is nothing to show. The caller owns it. */
char *call_progress_text(const char *text, size_t n);

#endif
