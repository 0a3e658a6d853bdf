#include "mcp/server.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/list.h"
#include "base/log.h"
#include "base/watchdog.h"
#include "mcp/client-request.h"
#include "mcp/connection.h"
#include "mcp/extension.h"
#include "mcp/inputs.h"
#include "mcp/logging.h"
#include "mcp/methods.h"
#include "mcp/result.h"
#include "mcp/roots.h"
#include "mcp/rpc.h"
#include "mcp/subscriptions.h"
#include "mcp/tasks.h"

/* Maximum length of a line, which may hold code and inline files. */
#define LINE_MAX_IN (16u << 20)
/* Above the first limit of unread output, husk stops reading from the client; above the second it disconnects. */
#define QUEUE_PAUSE (8u << 20)
#define QUEUE_MAX (64u << 20)
/* Far more requests than clients have open, and far fewer than would burden the server. */
#define CALLS_MAX 256
#define BATCH_MAX 100
/* Time to write the last answers: the process should end within a tenth of a second. */
#define FLUSH_MS 70

/* The answers of one batch of requests, while some of them still run. */
struct answers {
	struct buf list; /* a JSON list without its closing bracket */
	size_t open;	 /* number of references: unanswered requests, and the dispatcher */
};

struct server {
	struct server_spec spec;
	struct connection connection;
	struct lines *lines;
	struct list calls;
	size_t n_calls;
	struct timer *end_timer;
	bool gave_up;  /* the client did not read and is being disconnected */
	bool stopping; /* reading has stopped */
	bool ended;
	bool freeing;
};

static void end_now(void *ctx)
{
	struct server *s = ctx;
	if (s->ended)
		return;
	s->ended = true;
	s->spec.on_end(s->spec.ctx, s->gave_up);
}

/* --- out ------------------------------------------------------------------------------------------------ */

static void write_text(struct server *s, const char *text, size_t n)
{
	int r = lines_write(s->lines, text, n);
	if (r == -ENOBUFS) {
		log_error("the client has not read %u MiB of answers; disconnecting it", QUEUE_MAX >> 20);
		s->gave_up = true;
		s->stopping = true;
		timer_start(s->end_timer, 0, 0);
	}
}

/* Sends a message that does not answer a request. If it is too long for the client, it is dropped. */
static void send_text(struct server *s, const struct buf *text)
{
	if (text->len <= RESULT_LINE_MAX)
		write_text(s, (const char *)text->data, text->len);
}

/* Takes the message. */
static void send_message(struct server *s, json_t *message)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_print(&text, message);
	json_decref(message);
	send_text(s, &text);
}

static void flush_answers(struct server *s, struct answers *a)
{
	if (a->list.len) {
		buf_add(&a->list, "]", 1);
		write_text(s, (const char *)a->list.data, a->list.len);
	}
	buf_release(&a->list);
}

/* Sends the answers of a batch together, or in several lists if the line would be too long. id may be NULL. */
static void send_answer(struct server *s, struct answers *a, const json_t *id, const struct buf *text)
{
	AUTO(buf_release) struct buf error = { 0 };
	if (text->len > RESULT_LINE_MAX - 2) {
		/* result.c never exceeds the limit, but other answers echo text of the client. */
		json_auto_t *message =
			rpc_error((json_t *)id, RPC_INTERNAL_ERROR, "Internal error: the answer is too large", NULL);
		json_print(&error, message);
		text = &error;
	}
	if (!a) {
		write_text(s, (const char *)text->data, text->len);
		return;
	}
	if (a->list.len + text->len + 2 > RESULT_LINE_MAX)
		flush_answers(s, a);
	buf_add(&a->list, a->list.len ? "," : "[", 1);
	buf_add(&a->list, text->data, text->len);
}

static void answers_unref(struct server *s, struct answers *a)
{
	if (--a->open > 0)
		return;
	flush_answers(s, a);
	free(a);
}

static void call_send_reply(void *ctx, struct call *call, const struct buf *text)
{
	send_answer(ctx, call->batch, call->id, text);
}

static void call_send_progress(void *ctx, json_t *message)
{
	struct server *s = ctx;
	/* Progress is dropped first when the client reads slowly. */
	if (lines_queued(s->lines) > 0 || s->stopping || s->freeing)
		json_decref(message);
	else
		send_message(s, message);
}

/* Logs one line for each request. */
static void log_end(const struct call *call)
{
	AUTO(freep) char *code = call->error_code ? xasprintf("error %d", call->error_code) : NULL;
	const char *how = code ? code : call->tool_error ? "tool error" : call->replied ? "ok" : "cancelled";
	log_debug("request %s %s%s%s: %s in %llu ms", call->key, call->method, call->tool_name ? " " : "",
		  call->tool_name ? call->tool_name : "", how, (unsigned long long)(loop_now_ms() - call->started_ms));
}

static void call_closed(void *ctx, struct call *call)
{
	struct server *s = ctx;
	s->n_calls--;
	if (log_shows(LOG_DEBUG) && !s->freeing)
		log_end(call);
	if (call->listening)
		s->connection.n_listening--;
	subscriptions_drop(&s->connection, call);
	if (call->batch && !s->freeing)
		answers_unref(s, call->batch);
}

static void notify(struct connection *c, json_t *message)
{
	struct server *s = container_of(c, struct server, connection);
	if (s->freeing)
		json_decref(message);
	else
		send_message(s, message);
}

static void notify_if_idle(struct connection *c, json_t *message)
{
	call_send_progress(container_of(c, struct server, connection), message);
}

static void notify_text(struct connection *c, const struct buf *text)
{
	send_text(container_of(c, struct server, connection), text);
}

/* --- in ------------------------------------------------------------------------------------------------- */

static struct call *find_call(struct server *s, const json_t *id)
{
	AUTO(freep) char *key = rpc_id_key(id);
	list_for_each(call, &s->calls, struct call, link)
		if (streq(call->key, key))
			return call;
	return NULL;
}

static void refuse(struct server *s, struct answers *a, json_t *id, int code, const char *message, json_t *data)
{
	if (id && log_shows(LOG_DEBUG)) {
		AUTO(freep) char *key = rpc_id_key(id);
		log_debug("request %s: refused with error %d: %s", key, code, message);
	}
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *error = rpc_error(id, code, message, data);
	json_print(&text, error);
	send_answer(s, a, id, &text);
}

static void on_request(struct server *s, struct answers *a, const struct rpc_message *m)
{
	struct meta_verdict v = revision_of_request(m->params);
	const struct revision *revision = v.legacy ? s->connection.legacy : v.revision;
	if (find_call(s, m->id)) {
		json_decref(v.data);
		refuse(s, a, m->id, RPC_INVALID_REQUEST, "Invalid Request: a request with this id is still running",
		       NULL);
		return;
	}
	if (!revision) {
		refuse(s, a, m->id, v.code, v.message, v.data);
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
		refuse(s, a, m->id, discover ? RPC_INVALID_PARAMS : RPC_METHOD_NOT_FOUND, text, NULL);
		return;
	}
	if (a && method->alone) {
		refuse(s, a, m->id, RPC_INVALID_REQUEST, "Invalid Request: not allowed in a batch", NULL);
		return;
	}
	if (s->n_calls >= CALLS_MAX) {
		refuse(s, a, m->id, RPC_INTERNAL_ERROR, "Too many requests in flight; wait for some to end", NULL);
		return;
	}
	static const struct call_ops ops = { call_send_reply, call_send_progress, call_closed };
	struct call *call = call_new(&ops, s, m->id, revision);
	list_append(&s->calls, &call->link);
	s->n_calls++;
	call->batch = a;
	call->method = method->name;
	call->capabilities =
		json_incref(v.legacy ? s->connection.capabilities :
				       json_object_get(json_object_get(m->params, "_meta"), META_CAPABILITIES));
	if (a)
		a->open++;
	watchdog_detail("a request:", m->method, 0);
	const struct extension *extension = s->spec.extension;
	if (!extension || !extension->request(extension->ctx, &s->connection, call, m->params))
		method->handle(&s->connection, call, m->params);
}

static void on_notification(struct server *s, const struct rpc_message *m)
{
	if (streq(m->method, "notifications/roots/list_changed"))
		roots_changed(&s->connection);
	if (!streq(m->method, "notifications/cancelled"))
		return;
	const json_t *id = json_object_get(m->params, "requestId");
	struct call *call = rpc_id_valid(id) ? find_call(s, id) : NULL;
	if (call)
		call_cancel(call);
}

static void on_invalid(struct server *s, struct answers *a, const struct rpc_message *m)
{
	log_debug("bad message: %s", m->error);
	/* Older schemas do not allow an error without an id, and a client that cannot parse one may disconnect. */
	if (m->id || s->connection.legacy->error_without_id)
		refuse(s, a, m->id, m->code, m->error, NULL);
}

/* Some clients start a server only to identify it, then end it. These requests must not use the engine or the store. */
static bool is_introduction(const char *method)
{
	return streq(method, "server/discover") || streq(method, "initialize") ||
	       streq(method, "notifications/initialized") || streq(method, "ping");
}

static void on_message(struct server *s, struct answers *a, const struct rpc_message *m)
{
	if ((m->kind == RPC_REQUEST || m->kind == RPC_NOTIFICATION) && !is_introduction(m->method))
		conversation_wake(s->spec.conversation);
	switch (m->kind) {
	case RPC_REQUEST:
		on_request(s, a, m);
		break;
	case RPC_NOTIFICATION:
		on_notification(s, m);
		break;
	case RPC_RESPONSE:
		client_requests_answered(&s->connection, m->root);
		break;
	case RPC_INVALID:
	case RPC_BATCH: /* a batch inside a batch */
		on_invalid(s, a, m);
		break;
	}
}

static void on_batch(struct server *s, json_t *list)
{
	struct rpc_message bad = { .code = RPC_INVALID_REQUEST };
	if (!s->connection.legacy->batches)
		bad.error = "Invalid Request: batches are not part of this protocol version";
	else if (json_array_size(list) > BATCH_MAX)
		bad.error = "Invalid Request: more than 100 messages in a batch";
	if (bad.error) {
		on_invalid(s, NULL, &bad);
		return;
	}
	struct answers *a = new0(struct answers);
	a->open = 1; /* our reference, until all entries are dispatched */
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct rpc_message m;
		rpc_classify(&m, json_array_get(list, i));
		if (m.kind == RPC_BATCH) {
			m.code = RPC_INVALID_REQUEST;
			m.error = "Invalid Request: a batch in a batch";
		}
		on_message(s, a, &m);
		rpc_message_release(&m);
	}
	answers_unref(s, a);
}

static void on_line(void *ctx, const char *line, size_t n)
{
	struct server *s = ctx;
	struct rpc_message m;
	if (s->stopping)
		return;
	rpc_parse(&m, line, n);
	if (m.kind == RPC_BATCH)
		on_batch(s, m.root);
	else
		on_message(s, NULL, &m);
	rpc_message_release(&m);
}

static void on_too_long(void *ctx)
{
	struct rpc_message m = { .code = RPC_INVALID_REQUEST, .error = "Invalid Request: line longer than 16 MiB" };
	on_invalid(ctx, NULL, &m);
}

static void on_eof(void *ctx, int error)
{
	if (error < 0)
		log_warning("cannot read from the client: %s", strerror(-error));
	server_stop(ctx);
}

static void on_write_error(void *ctx, int error)
{
	struct server *s = ctx;
	log_debug("the client disconnected: %s", strerror(-error));
	s->stopping = true;
	timer_start(s->end_timer, 0, 0);
}

static void on_drained(void *ctx)
{
	struct server *s = ctx;
	if (s->stopping)
		timer_start(s->end_timer, 0, 0);
}

/* --- lifetime ------------------------------------------------------------------------------------------- */

struct server *server_new(const struct server_spec *spec)
{
	static const struct lines_ops ops = {
		.on_line = on_line,
		.on_too_long = on_too_long,
		.on_eof = on_eof,
		.on_write_error = on_write_error,
		.on_drained = on_drained,
	};
	static const struct lines_limits limits = {
		.line_max = LINE_MAX_IN,
		.pause_above = QUEUE_PAUSE,
		.queue_max = QUEUE_MAX,
	};
	struct server *s = new0(struct server);
	s->spec = *spec;
	s->connection = (struct connection){
		.loop = spec->loop,
		.env = { .conversation = spec->conversation, .config = spec->config, .loop = spec->loop },
		.extension = spec->extension,
		.calls = &s->calls,
		.legacy = revision_negotiate(NULL),
		.notify = notify,
		.notify_text = notify_text,
		.notify_if_idle = notify_if_idle,
	};
	list_init(&s->calls);
	s->connection.env.connection = &s->connection;
	client_requests_bind(&s->connection);
	inputs_bind(&s->connection);
	roots_bind(&s->connection);
	subscriptions_bind(&s->connection);
	s->lines = lines_new(spec->loop, spec->in_fd, spec->out_fd, &limits, &ops, s);
	if (!s->lines) {
		int saved = errno;
		free(s);
		errno = saved;
		return NULL;
	}
	s->end_timer = timer_new(spec->loop, end_now, s);
	tasks_bind(&s->connection);
	return s;
}

void server_stop(struct server *s)
{
	if (s->stopping)
		return;
	list_for_each(call, &s->calls, struct call, link)
		if (call->listening)
			method_end_listening(call);
	s->stopping = true;
	lines_flush_now(s->lines);
	timer_start(s->end_timer, lines_queued(s->lines) > 0 ? FLUSH_MS : 0, 0);
}

struct server *server_free(struct server *s)
{
	if (!s)
		return NULL;
	s->freeing = true;
	list_for_each(call, &s->calls, struct call, link) {
		struct answers *a = call->batch;
		call->op = NULL;
		call_cancel(call);
		if (a && --a->open == 0) {
			buf_release(&a->list);
			free(a);
		}
	}
	lines_free(s->lines);
	timer_free(s->end_timer);
	logging_release(&s->connection);
	inputs_release(&s->connection);
	roots_release(&s->connection);
	client_requests_release(&s->connection);
	subscriptions_release(&s->connection);
	if (s->spec.extension)
		s->spec.extension->close(s->spec.extension->ctx);
	free(s);
	return NULL;
}
