#include "mcp/messages.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/log.h"
#include "base/watchdog.h"
#include "mcp/client-request.h"
#include "mcp/extension.h"
#include "mcp/inputs.h"
#include "mcp/logging.h"
#include "mcp/methods.h"
#include "mcp/result.h"
#include "mcp/roots.h"
#include "mcp/rpc.h"
#include "mcp/subscriptions.h"

/* Far more requests than clients have open, and far fewer than would burden the server. */
#define CALLS_MAX 256
#define BATCH_MAX 100

/* The answers of one batch of requests, while some of them still run. */
struct answers {
	struct buf list; /* a JSON list without its closing bracket */
	size_t open;	 /* number of references: unanswered requests, and the dispatcher */
	void *origin;
};

/* --- out ------------------------------------------------------------------------------------------------ */

static void flush_answers(struct connection *c, struct answers *a, bool last)
{
	if (a->list.len)
		buf_add(&a->list, "]", 1);
	if (a->list.len || last)
		c->ops->answer(c, &(struct connection_answer){
					  .origin = a->origin, .text = a->list.len ? &a->list : NULL, .last = last });
	buf_release(&a->list);
}

/* Sends the answers of a batch together, or in several lists if the line would be too long. id may be NULL. */
static void send_answer(struct connection *c, struct answers *a, const json_t *id, struct connection_answer answer)
{
	AUTO(buf_release) struct buf error = { 0 };
	if (answer.text->len > RESULT_LINE_MAX - 2) {
		/* result.c never exceeds the limit, but other answers echo text of the client. */
		json_auto_t *message =
			rpc_error((json_t *)id, RPC_INTERNAL_ERROR, "Internal error: the answer is too large", NULL);
		json_print(&error, message);
		answer.text = &error;
	}
	if (!a) {
		answer.last = true;
		c->ops->answer(c, &answer);
		return;
	}
	if (a->list.len + answer.text->len + 2 > RESULT_LINE_MAX)
		flush_answers(c, a, /* last= */ false);
	buf_add(&a->list, a->list.len ? "," : "[", 1);
	buf_add(&a->list, answer.text->data, answer.text->len);
}

static void answers_unref(struct connection *c, struct answers *a)
{
	if (--a->open > 0)
		return;
	flush_answers(c, a, /* last= */ true);
	free(a);
}

static void call_send_reply(void *ctx, struct call *call, const struct buf *text)
{
	send_answer(ctx, call->batch, call->id,
		    (struct connection_answer){ .origin = call->origin, .text = text, .code = call->error_code });
}

static void call_send_progress(void *ctx, struct call *call, json_t *message)
{
	/* Progress is dropped first when the client reads slowly. */
	connection_notify_if_idle(ctx, call, message);
}

/* Logs one line for each request. */
static void log_end(const struct call *call)
{
	AUTO(freep) char *code = call->error_code ? xasprintf("error %d", call->error_code) : NULL;
	const char *how = code ? code : call->tool_error ? "tool error" : call->replied ? "ok" : "cancelled";
	log_debug("request %s %s%s%s: %s in %llu ms%s%s", call->key, call->method, call->tool_name ? " " : "",
		  call->tool_name ? call->tool_name : "", how, (unsigned long long)(loop_now_ms() - call->started_ms),
		  *call->trace ? ", trace " : "", call->trace);
}

static void call_closed(void *ctx, struct call *call)
{
	struct connection *c = ctx;
	c->n_calls--;
	if (log_shows(LOG_DEBUG) && !c->freeing)
		log_end(call);
	if (call->listening)
		c->n_listening--;
	subscriptions_drop(c, call);
	if (c->freeing)
		return;
	if (call->batch)
		answers_unref(c, call->batch);
	else if (!call->replied)
		c->ops->answer(c, &(struct connection_answer){ .origin = call->origin, .last = true });
}

/* --- in ------------------------------------------------------------------------------------------------- */

static struct call *find_call(struct connection *c, const json_t *id)
{
	if (c->shared)
		return NULL;
	AUTO(freep) char *key = rpc_id_key(id);
	list_for_each(call, &c->calls, struct call, link)
		if (streq(call->key, key))
			return call;
	return NULL;
}

/* Where a message came from: its origin, and the batch that it is part of (NULL = none). */
struct source {
	void *origin;
	struct answers *batch;
};

static void refuse(struct connection *c, const struct source *from, json_t *id, int code, const char *message,
		   json_t *data)
{
	if (id && log_shows(LOG_DEBUG)) {
		AUTO(freep) char *key = rpc_id_key(id);
		log_debug("request %s: refused with error %d: %s", key, code, message);
	}
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *error = rpc_error(id, code, message, data);
	json_print(&text, error);
	send_answer(c, from->batch, id,
		    (struct connection_answer){ .origin = from->origin, .text = &text, .code = code, .refused = true });
}

static void start(struct connection *c, const struct source *from, const struct rpc_message *m,
		  const struct method *method, const struct revision *revision)
{
	static const struct call_ops ops = { call_send_reply, call_send_progress, call_closed };
	struct call *call = call_new(&ops, c, m->id, revision);
	const char *trace = json_string_value(json_object_get(json_object_get(m->params, "_meta"), "traceparent"));
	if (trace && trace_is_valid(trace))
		memcpy(call->trace, trace, TRACE_CHARS);
	list_append(&c->calls, &call->link);
	c->n_calls++;
	call->origin = from->origin;
	call->scopes = c->ops->scopes ? c->ops->scopes(from->origin) : SCOPES_ALL;
	call->batch = from->batch;
	call->method = method->name;
	call->capabilities =
		json_incref(revision->modern ? json_object_get(json_object_get(m->params, "_meta"), META_CAPABILITIES) :
					       c->capabilities);
	if (from->batch)
		from->batch->open++;
	watchdog_detail("a request:", m->method, 0);
	const struct extension *extension = c->extension;
	if (!extension || !extension->request(extension->ctx, c, call, m->params))
		method->handle(c, call, m->params);
}

static void on_request(struct connection *c, const struct source *from, const struct rpc_message *m)
{
	struct meta_verdict v = revision_of_request(m->params);
	const struct revision *revision = v.legacy ? c->legacy : v.revision;
	if (find_call(c, m->id)) {
		json_decref(v.data);
		refuse(c, from, m->id, RPC_INVALID_REQUEST, "Invalid Request: a request with this id is still running",
		       NULL);
		return;
	}
	if (!revision) {
		refuse(c, from, m->id, v.code, v.message, v.data);
		return;
	}
	const struct method *method = method_find(m->method, revision->modern);
	if (!method) {
		/* The method may belong to the other era: say what is missing. */
		bool discover = streq(m->method, "server/discover");
		AUTO(freep) char *name = rpc_excerpt(m->method);
		AUTO(freep) char *text =
			discover ? xstrdup("Invalid params: server/discover needs _meta[\"" META_VERSION "\"]") :
				   xasprintf("Method not found: %s", name);
		refuse(c, from, m->id, discover ? RPC_INVALID_PARAMS : RPC_METHOD_NOT_FOUND, text, NULL);
		return;
	}
	if (from->batch && method->alone)
		refuse(c, from, m->id, RPC_INVALID_REQUEST, "Invalid Request: not allowed in a batch", NULL);
	else if (c->n_calls >= CALLS_MAX)
		refuse(c, from, m->id, RPC_INTERNAL_ERROR, "Too many requests in flight; wait for some to end", NULL);
	else
		start(c, from, m, method, revision);
}

static void on_notification(struct connection *c, const struct rpc_message *m)
{
	if (streq(m->method, "notifications/roots/list_changed"))
		roots_changed(c);
	if (!streq(m->method, "notifications/cancelled"))
		return;
	const json_t *id = json_object_get(m->params, "requestId");
	struct call *call = rpc_id_valid(id) ? find_call(c, id) : NULL;
	if (call)
		call_cancel(call);
}

static void on_invalid(struct connection *c, const struct source *from, const struct rpc_message *m)
{
	log_debug("bad message: %s", m->error);
	/* Older schemas do not allow an error without an id, and a client that cannot parse one may disconnect. */
	if (m->id || c->legacy->error_without_id)
		refuse(c, from, m->id, m->code, m->error, NULL);
}

/* Some clients start a server only to identify it, then end it. These requests must not use the engine or the store. */
static bool is_introduction(const char *method)
{
	return streq(method, "server/discover") || streq(method, "initialize") ||
	       streq(method, "notifications/initialized") || streq(method, "ping");
}

static void on_message(struct connection *c, const struct source *from, const struct rpc_message *m)
{
	if ((m->kind == RPC_REQUEST || m->kind == RPC_NOTIFICATION) && !is_introduction(m->method))
		conversation_wake(c->env.conversation);
	switch (m->kind) {
	case RPC_REQUEST:
		on_request(c, from, m);
		break;
	case RPC_NOTIFICATION:
		on_notification(c, m);
		break;
	case RPC_RESPONSE:
		client_requests_answered(c, m->root);
		break;
	case RPC_INVALID:
	case RPC_BATCH: /* a batch inside a batch */
		on_invalid(c, from, m);
		break;
	}
}

const char *messages_batch_problem(const struct connection *c, const json_t *list)
{
	if (!c->legacy->batches)
		return "Invalid Request: batches are not part of this protocol version";
	if (json_array_size(list) > BATCH_MAX)
		return "Invalid Request: more than 100 messages in a batch";
	return NULL;
}

static void on_batch(struct connection *c, void *origin, json_t *list)
{
	struct source from = { .origin = origin };
	struct rpc_message bad = { .code = RPC_INVALID_REQUEST, .error = messages_batch_problem(c, list) };
	if (bad.error) {
		on_invalid(c, &from, &bad);
		return;
	}
	from.batch = new0(struct answers);
	from.batch->origin = origin;
	from.batch->open = 1; /* our reference, until all entries are dispatched */
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct rpc_message m;
		rpc_classify(&m, json_array_get(list, i));
		if (m.kind == RPC_BATCH) {
			m.code = RPC_INVALID_REQUEST;
			m.error = "Invalid Request: a batch in a batch";
		}
		on_message(c, &from, &m);
		rpc_message_release(&m);
	}
	answers_unref(c, from.batch);
}

void messages_handle(struct connection *c, void *origin, const struct rpc_message *m)
{
	if (m->kind == RPC_BATCH)
		on_batch(c, origin, m->root);
	else
		on_message(c, &(struct source){ .origin = origin }, m);
}

/* --- lifetime ------------------------------------------------------------------------------------------- */

void messages_init(struct connection *c, const struct connection_spec *spec)
{
	*c = (struct connection){
		.loop = spec->loop,
		.env = { .conversation = spec->conversation,
			 .config = spec->config,
			 .loop = spec->loop,
			 .app = spec->app },
		.extension = spec->extension,
		.ops = spec->ops,
		.legacy = revision_negotiate(NULL),
	};
	list_init(&c->calls);
	c->env.connection = c;
	client_requests_bind(c);
	inputs_bind(c);
	roots_bind(c);
	subscriptions_bind(c);
}

void messages_end_listening(struct connection *c)
{
	list_for_each(call, &c->calls, struct call, link)
		if (call->listening)
			method_end_listening(call);
}

void messages_cancel_all(struct connection *c)
{
	for (struct call *call; (call = list_first(&c->calls, struct call, link));)
		call_cancel(call);
}

void messages_release(struct connection *c)
{
	c->freeing = true;
	list_for_each(call, &c->calls, struct call, link) {
		struct answers *a = call->batch;
		call->op = NULL;
		call_cancel(call);
		if (a && --a->open == 0) {
			buf_release(&a->list);
			free(a);
		}
	}
	logging_release(c);
	inputs_release(c);
	roots_release(c);
	client_requests_release(c);
	subscriptions_release(c);
}
