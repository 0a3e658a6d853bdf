/* One request in flight. It is either answered exactly once or cancelled, and then freed. A cancelled request sends
 * nothing more.
 *
 * If the client gave a token, progress is sent: the last lines of live output, at most two messages a second, and
 * a sign of life every five seconds without output. The numbers always increase. Progress that is pending when the
 * answer is sent is dropped, because clients lose a progress message that arrives in the same read as the answer. */
#ifndef HUSK_MCP_CALL_H
#define HUSK_MCP_CALL_H

#include <jansson.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/loop.h"
#include "base/trace.h"
#include "mcp/version.h"

struct call;
struct op;

/* How a request reaches its client. */
struct call_ops {
	/* Sends the only answer, a message as JSON text. The request is freed after this returns. */
	void (*reply)(void *ctx, struct call *call, const struct buf *text);
	/* Sends a progress message, or drops it. Takes the message. */
	void (*progress)(void *ctx, struct call *call, json_t *message);
	/* Called when the request is being freed, whether it was answered or not. */
	void (*closed)(void *ctx, struct call *call);
};

struct call {
	json_t *id;
	char *key; /* rpc_id_key() of the id */
	const struct revision *revision;
	const char *method;	     /* name of the method; static */
	const char *tool_name;	     /* name of the tool; static; NULL = no tool */
	char trace[TRACE_CHARS + 1]; /* traceparent of its _meta; "" = none */
	struct list link;	     /* this and the next two are for the owner of the request */
	void *batch;
	void *origin;
	json_t *capabilities; /* the client's; NULL = none */
	bool listening;	      /* the request is a subscription, which stays open until it is cancelled */
	json_t *task_ids;     /* tasks that the subscription listens to, or will; NULL = none */
	unsigned scopes;      /* what the request may do */
	bool knows_tasks;     /* the client supports tasks, so the answer may be a task */

	json_t *args; /* the decoded arguments point into it */
	void *decoded;
	struct op *op; /* the manager's operation; cancelled with the request */
	const void *tool;
	const void *env;
	void *data; /* for the method; released with the request */
	void (*data_free)(void *data);
	struct fail failure; /* answered once the list of sessions is complete */
	const char *failed_session;

	/* Private. */
	const struct call_ops *ops;
	void *ctx;
	bool replied;
	int error_code;	 /* error code of the answer; 0 = a result */
	bool tool_error; /* the result has isError */
	json_t *token;
	struct timer *timer;
	struct buf tail; /* the last bytes of live output */
	bool output_pending;
	struct later *later; /* the worker job that builds the answer; NULL = none */
	int64_t progress;
	uint64_t started_ms;
	uint64_t last_ms; /* when the last progress message was sent, or the request began */
};

/* References id. Never fails. */
struct call *call_new(const struct call_ops *ops, void *ctx, json_t *id, const struct revision *revision);
/* Sends progress from now on, with this token (a string or an integer, referenced). */
void call_set_progress(struct call *c, struct loop *loop, json_t *token);
/* Both answer and free the request, and take result and data. They add the fields that every modern result must have,
 * such as resultType if it is not set. */
void call_reply(struct call *c, json_t *result);
void call_reply_error(struct call *c, int code, const char *message, json_t *data);
/* Like call_reply(), with one more member in the result, whose value is JSON text. So large values that are already
 * JSON text need not be parsed. */
void call_reply_with(struct call *c, json_t *result, const char *name, const char *json);
/* Answers with the result of `make`, a new reference. For results that would block the loop: `make` runs in a worker,
 * which also prints the result, and may use only ctx. `release` frees ctx on the loop, whether the request was answered
 * or cancelled meanwhile. */
struct call_work {
	json_t *(*make)(void *ctx);
	/* Called on the loop before the answer is sent, if it is. May be NULL. */
	void (*made)(struct call *c, void *ctx);
	void (*release)(void *ctx);
	void *ctx;
	bool bulk;	     /* waits for a disk instead of computing; see base/work.h */
	const char *session; /* session whose data `make` uses (base/work.h); copied */
};
void call_reply_later(struct call *c, struct loop *loop, const struct call_work *work);
/* Adds the fields that modern results of lists and reads must have; adds nothing for older revisions. */
void call_set_cache_hints(const struct revision *revision, json_t *result, json_int_t ttl_ms, const char *scope);
/* Cancels the operation and frees the request; nothing is sent. */
void call_cancel(struct call *c);
/* Receives live output, for progress messages. */
void call_output(struct call *c, const char *text, size_t n);

/* Name, version and title of this server, in the form of the revision. New reference. */
json_t *call_server_info(const struct revision *revision);
/* The text of a progress message: the last lines of some output; "" if there are none. The caller owns it. */
char *call_progress_text(const char *text, size_t n);

#endif
