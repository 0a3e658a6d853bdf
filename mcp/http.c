#include "mcp/http.h"

#include "base/alloc.h"
#include "mcp/extension.h"
#include "mcp/http-private.h"
#include "mcp/messages.h"
#include "mcp/subscriptions.h"
#include "mcp/tasks.h"

#define BODY_MAX (4u << 20)
#define UNSENT_MAX (1u << 20)
#define SESSIONS_MAX 1000
#define SESSIONS_PER_KEY 100
#define IDLE_MS (24ull * 3600 * 1000)

/* --- out ------------------------------------------------------------------------------------------------ */

static bool is_modern(const struct mcp_stream *s)
{
	return !s->session;
}

/* Clients of older revisions read JSON-RPC errors only from answers with status 200. */
static int status_of(const struct mcp_stream *s, const struct connection_answer *a)
{
	if (!a->code || !is_modern(s))
		return 200;
	switch (a->code) {
	case RPC_METHOD_NOT_FOUND:
		return 404;
	case RPC_HEADER_MISMATCH:
	case RPC_MISSING_CAPABILITY:
	case RPC_UNSUPPORTED_VERSION:
		return 400;
	case RPC_INTERNAL_ERROR:
		return a->refused ? 429 : 200;
	default:
		return a->refused ? 400 : 200;
	}
}

static void send_answer(struct connection *c UNUSED, const struct connection_answer *a)
{
	struct mcp_stream *s = a->origin;
	if (!a->text && !s->has_request) {
		mcp_stream_reply(s, 202, NULL, 0);
	} else if (!a->text && is_modern(s)) {
		mcp_stream_free(s);
	} else if (a->text && a->last && !s->begun && (s->accepts_json || !s->r)) {
		mcp_stream_reply(s, status_of(s, a), a->text->data, a->text->len);
	} else {
		if (a->text)
			mcp_stream_send(s, a->text);
		if (a->last)
			mcp_stream_end(s);
	}
}

/* The stream for a message that is not an answer; NULL = none. Messages of a request go to its own stream if the
 * client reads events there, or will resume reading them. */
static struct mcp_stream *stream_for(struct connection *c, const struct call *call)
{
	struct mcp_stream *s = call ? call->origin : NULL;
	if (s && s->accepts_events && (s->r || s->begun))
		return s;
	struct mcp_room *room = c->transport;
	if (c == &room->modern)
		return NULL;
	return container_of(c, struct mcp_session, connection)->general;
}

static void send_message(struct connection *c, const struct call *call, const struct buf *text)
{
	struct mcp_stream *s = stream_for(c, call);
	if (s)
		mcp_stream_send(s, text);
}

static bool is_slow(struct connection *c, const struct call *call)
{
	const struct mcp_stream *s = stream_for(c, call);
	return !s || !s->r || (s->begun && http_reply_queued(s->r) > 0);
}

static void hang_up(struct connection *c UNUSED, const struct call *call)
{
	struct mcp_stream *s = call->origin;
	if (!is_modern(s))
		mcp_stream_hang_up(s);
}

static unsigned scopes_of(const void *origin)
{
	const struct mcp_stream *s = origin;
	return s->scopes;
}

const struct connection_ops mcp_http_ops = {
	.answer = send_answer, .send = send_message, .is_slow = is_slow, .hang_up = hang_up, .scopes = scopes_of
};

static void cancel(struct mcp_stream *s)
{
	list_for_each(call, &s->room->modern.calls, struct call, link) {
		if (call->origin != s)
			continue;
		call_cancel(call); /* frees the stream */
		return;
	}
	mcp_stream_free(s);
}

void mcp_http_closed(void *stream)
{
	struct mcp_stream *s = stream;
	s->r = NULL;
	if (!s->has_request && !(s->session && s == s->session->general))
		mcp_stream_free(s);
	else if (is_modern(s))
		cancel(s);
}

/* --- messages ------------------------------------------------------------------------------------------- */

static const struct http_fields *fields_of(const struct http_request *r)
{
	return &http_request_head(r)->fields;
}

static void refuse(struct mcp_stream *s, int status, const struct rpc_message *m, int code, const char *message)
{
	mcp_stream_refuse(s, status, m->id, code, message, NULL);
}

static void refuse_header(struct mcp_stream *s, const struct rpc_message *m, const char *header)
{
	AUTO(freep) char *message =
		xasprintf("Header mismatch: %s is missing or does not match the body of the request", header);
	refuse(s, 400, m, RPC_HEADER_MISMATCH, message);
}

static void on_modern_request(struct mcp_stream *s, const struct rpc_message *m)
{
	const struct http_fields *fields = fields_of(s->r);
	const char *wrong = mcp_headers_wrong_version(fields, m);
	if (wrong) {
		refuse_header(s, m, wrong);
		return;
	}
	struct meta_verdict v = revision_of_request(m->params);
	if (!v.revision) {
		mcp_stream_refuse(s, 400, m->id, v.legacy ? RPC_INVALID_PARAMS : v.code,
				  v.legacy ? "Invalid params: _meta[\"" META_VERSION "\"] is required" : v.message,
				  v.data);
		return;
	}
	wrong = mcp_headers_wrong_name(fields, m);
	if (wrong) {
		refuse_header(s, m, wrong);
	} else if (streq(m->method, "subscriptions/listen") && !s->accepts_events) {
		refuse(s, 406, m, RPC_INVALID_REQUEST, "Invalid Request: subscriptions need Accept: text/event-stream");
	} else {
		s->has_request = true;
		messages_handle(&s->room->modern, s, m);
	}
}

static void on_modern(struct mcp_stream *s, const struct rpc_message *m)
{
	switch (m->kind) {
	case RPC_REQUEST:
		on_modern_request(s, m);
		break;
	case RPC_NOTIFICATION: /* no notification of this revision needs action from an HTTP server */
		mcp_stream_reply(s, 202, NULL, 0);
		break;
	default:
		refuse(s, 400, m, RPC_INVALID_REQUEST, "Invalid Request: send one request or notification");
		break;
	}
}

static void on_initialize(struct mcp_stream *s, const struct rpc_message *m)
{
	struct mcp_session *session = mcp_session_new(s->room, s->key, s->scopes);
	if (!session) {
		refuse(s, 429, m, RPC_INTERNAL_ERROR,
		       "Too many sessions are in use; end one with DELETE, or close its streams");
		return;
	}
	mcp_stream_join(s, session);
	s->begins = s->has_request = true;
	messages_handle(&session->connection, s, m);
	if (!session->connection.initialized)
		mcp_session_free(session);
}

static bool has_requests(const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_object_get(json_array_get(list, i), "id") &&
		    json_object_get(json_array_get(list, i), "method"))
			return true;
	return false;
}

static void on_session_message(struct mcp_stream *s, struct mcp_session *session, const struct rpc_message *m)
{
	const char *problem = m->kind == RPC_BATCH ? messages_batch_problem(&session->connection, m->root) : NULL;
	mcp_session_use(session);
	if (problem) {
		refuse(s, 400, m, RPC_INVALID_REQUEST, problem);
		return;
	}
	mcp_stream_join(s, session);
	s->has_request = m->kind == RPC_REQUEST || (m->kind == RPC_BATCH && has_requests(m->root));
	messages_handle(&session->connection, s, m);
	if (m->kind == RPC_NOTIFICATION || m->kind == RPC_RESPONSE)
		mcp_stream_reply(s, 202, NULL, 0);
}

#define NO_SESSION "Invalid Request: the header Mcp-Session-Id is missing; begin with initialize"
#define UNKNOWN_SESSION "Session not found: it has ended; begin another with initialize"

static struct mcp_session *find_session(struct mcp_room *room, const char *key, unsigned scopes, const char *id)
{
	struct mcp_session *session = mcp_session_find(room->http, room, key, id);
	return session ? session : mcp_session_continue(room, key, scopes, id);
}

static void on_legacy(struct mcp_stream *s, const struct rpc_message *m)
{
	const char *id = http_fields_get(fields_of(s->r), "mcp-session-id");
	if (m->kind == RPC_REQUEST && streq(m->method, "initialize")) {
		on_initialize(s, m);
		return;
	}
	struct mcp_session *session = id ? find_session(s->room, s->key, s->scopes, id) : NULL;
	if (session)
		on_session_message(s, session, m);
	else
		refuse(s, id ? 404 : 400, m, RPC_INVALID_REQUEST, id ? UNKNOWN_SESSION : NO_SESSION);
}

static void handle(struct mcp_stream *s, const struct rpc_message *m)
{
	if (mcp_headers_modern(fields_of(s->r), m))
		on_modern(s, m);
	else
		on_legacy(s, m);
}

/* --- other servers -------------------------------------------------------------------------------------- */

/* The session of a legacy request; NULL = none, or 2026-07-28. */
static struct mcp_session *legacy_session(const struct mcp_stream *s, const struct http_request *r,
					  const struct rpc_message *m)
{
	const char *id = http_fields_get(fields_of(r), "mcp-session-id");
	bool legacy = id && !mcp_headers_modern(fields_of(r), m);
	return legacy ? find_session(s->room, s->key, s->scopes, id) : NULL;
}

/* Ends the ticket. Its stream gets the request back; NULL = the stream is gone. */
static struct mcp_stream *ticket_take(struct mcp_ticket *t, struct rpc_message *ret)
{
	struct mcp_stream *s = t->stream;
	*ret = t->message;
	if (s) {
		s->ticket = NULL;
		s->r = t->r;
	}
	free(t);
	return s;
}

static void on_here(void *ticket)
{
	struct mcp_ticket *t = ticket;
	struct http_request *r = t->r;
	struct rpc_message m;
	struct mcp_stream *s = ticket_take(t, &m);
	if (!s) {
		mcp_http_refuse(r, 503, "The server has ended this conversation meanwhile; try again");
	} else {
		http_request_on_closed(r, mcp_http_closed, s);
		handle(s, &m);
	}
	rpc_message_release(&m);
}

static void on_gone(void *ticket)
{
	struct mcp_ticket *t = ticket;
	struct rpc_message m;
	t->r = NULL;
	struct mcp_stream *s = ticket_take(t, &m);
	if (s)
		mcp_stream_free(s);
	rpc_message_release(&m);
}

static uint64_t on_passed(void *ticket, const char *address)
{
	const struct mcp_ticket *t = ticket;
	struct mcp_session *session = t->stream ? legacy_session(t->stream, t->r, &t->message) : NULL;
	return session ? mcp_session_helper(session, address) : 0;
}

/* The session or the task that a request names: another server may have it. */
static bool names_something(const struct rpc_message *m, struct mcp_http_transfer *t)
{
	if (m->kind != RPC_REQUEST)
		return false;
	if (streq(m->method, "tools/call"))
		t->session = json_string_value(json_object_get(json_object_get(m->params, "arguments"), "session_id"));
	else if (strncmp(m->method, "tasks/", 6) == 0)
		t->task = json_string_value(json_object_get(m->params, "taskId"));
	return t->session || t->task;
}

/* Takes the message if it returns true. */
static bool transfer(struct mcp_stream *s, struct rpc_message *m, struct mcp_http_transfer *t)
{
	const struct mcp_http_spec *spec = &s->http->spec;
	struct mcp_ticket *ticket = new0(struct mcp_ticket);
	ticket->stream = s;
	ticket->r = t->request;
	ticket->message = *m;
	t->here = on_here;
	t->gone = on_gone;
	t->passed = on_passed;
	t->ticket = ticket;
	s->r = NULL;
	s->ticket = ticket;
	if (spec->transfer(spec->ctx, t))
		return true;
	s->r = t->request;
	s->ticket = NULL;
	free(ticket);
	return false;
}

/* Cancellations and answers of the client concern a call that may work elsewhere. */
static void copy(struct mcp_stream *s, const struct rpc_message *m, const struct mcp_http_transfer *t)
{
	const struct mcp_http_spec *spec = &s->http->spec;
	const struct mcp_session *session = legacy_session(s, s->r, m);
	for (size_t i = 0; session && i < session->helpers.n; i++)
		spec->copy(spec->ctx, t, session->helpers.v[i], i + 1);
}

/* True if another server may handle the message, which was taken then. */
static bool is_for_others(struct mcp_stream *s, struct rpc_message *m, const void *data, size_t n)
{
	struct mcp_http_transfer t = { .request = s->r,
				       .conversation = s->room->conversation,
				       .key = s->key,
				       .scopes = s->scopes,
				       .body = data,
				       .n = n };
	if (!s->http->spec.transfer || s->final)
		return false;
	if (m->kind == RPC_NOTIFICATION || m->kind == RPC_RESPONSE)
		copy(s, m, &t);
	return names_something(m, &t) && transfer(s, m, &t);
}

static void on_body(void *ctx, const void *data, size_t n)
{
	struct mcp_stream *s = ctx;
	struct rpc_message m;
	rpc_parse(&m, data, n);
	if (m.kind == RPC_INVALID)
		refuse(s, 400, &m, m.code, m.error);
	else if (is_for_others(s, &m, data, n))
		return;
	else
		handle(s, &m);
	rpc_message_release(&m);
}

/* --- requests ------------------------------------------------------------------------------------------- */

static bool accepts(const struct http_fields *f, const char *type, const char *group)
{
	return http_fields_has(f, "accept", type) || http_fields_has(f, "accept", group);
}

static bool is_json(const struct http_fields *f)
{
	static const char json[] = "application/json";
	const char *type = http_fields_get(f, "content-type");
	size_t n = strlen(json);
	return type && strncasecmp(type, json, n) == 0 && (!type[n] || strchr("; \t", type[n]));
}

static void on_post(struct mcp_room *room, struct http_request *r, const struct mcp_http_caller *caller)
{
	const struct http_fields *f = fields_of(r);
	bool json = !http_fields_get(f, "accept") || accepts(f, "application/json", "application/*") ||
		    http_fields_has(f, "accept", "*/*");
	bool events = accepts(f, "text/event-stream", "text/*");
	if (!is_json(f)) {
		mcp_http_refuse(r, 415, "Invalid Request: Content-Type must be application/json");
		return;
	}
	if (!json && !events) {
		mcp_http_refuse(r, 406, "Invalid Request: Accept must list application/json and text/event-stream");
		return;
	}
	struct mcp_stream *s = mcp_stream_new(room, r);
	s->key = xstrdup(caller->key);
	s->base = caller->base ? xstrdup(caller->base) : NULL;
	s->scopes = caller->scopes;
	s->final = caller->final;
	s->place = caller->number;
	s->accepts_json = json;
	s->accepts_events = events;
	http_request_collect(r, BODY_MAX, on_body, s);
}

/* Finds the session of a GET or DELETE. If there is none, answers and returns NULL. */
static struct mcp_session *session_of(struct mcp_room *room, struct http_request *r,
				      const struct mcp_http_caller *caller)
{
	const struct http_fields *f = fields_of(r);
	const char *version = http_fields_get(f, "mcp-protocol-version"), *id = http_fields_get(f, "mcp-session-id");
	const struct revision *revision = version ? revision_find(version) : NULL;
	bool legacy = version ? revision && !revision->modern : id != NULL;
	struct mcp_session *session = legacy && id ? find_session(room, caller->key, caller->scopes, id) : NULL;
	if (session)
		mcp_session_use(session);
	else if (!legacy)
		mcp_http_refuse(r, 405, "Method not allowed: this revision of the protocol uses POST only");
	else
		mcp_http_refuse(r, id ? 404 : 400, id ? UNKNOWN_SESSION : NO_SESSION);
	return session;
}

#define EVENTS_GONE "The events after this Last-Event-ID are no longer available"

static void on_resume_here(void *ticket)
{
	mcp_http_refuse(ticket, 410, EVENTS_GONE);
}

static void on_resume_gone(void *ticket UNUSED)
{
}

/* True if another server has the stream, and has got the request. */
static bool resumes_elsewhere(const struct mcp_session *session, struct http_request *r,
			      const struct mcp_http_caller *caller, const char *event)
{
	const struct mcp_http_spec *spec = &session->http->spec;
	uint64_t place = mcp_stream_place(event);
	if (caller->final || !place || place > session->helpers.n)
		return false;
	return spec->transfer(spec->ctx, &(struct mcp_http_transfer){ .request = r,
								      .conversation = session->room->conversation,
								      .key = session->key,
								      .scopes = caller->scopes,
								      .address = session->helpers.v[place - 1],
								      .number = place,
								      .here = on_resume_here,
								      .gone = on_resume_gone,
								      .ticket = r });
}

static void on_get(struct mcp_room *room, struct http_request *r, const struct mcp_http_caller *caller)
{
	const struct http_fields *f = fields_of(r);
	const char *last = http_fields_get(f, "last-event-id");
	struct mcp_session *session = session_of(room, r, caller);
	if (!session)
		return;
	if (!accepts(f, "text/event-stream", "text/*") && !http_fields_has(f, "accept", "*/*")) {
		mcp_http_refuse(r, 406, "Invalid Request: Accept must list text/event-stream");
		return;
	}
	if (last && resumes_elsewhere(session, r, caller, last))
		return;
	uint64_t after = session->general->sent;
	struct mcp_stream *s = last ? mcp_stream_find(session, last, &after) : session->general;
	if (!s)
		mcp_http_refuse(r, 410, EVENTS_GONE);
	else if (s->ended && after == s->last)
		http_reply(r, 204, NULL, NULL, 0); /* the client has everything */
	else
		mcp_stream_resume(s, r, after);
}

static void on_delete(struct mcp_room *room, struct http_request *r, const struct mcp_http_caller *caller)
{
	struct mcp_session *session = session_of(room, r, caller);
	if (!session)
		return;
	mcp_session_end(session);
	http_reply(r, 204, NULL, NULL, 0);
}

/* --- rooms ---------------------------------------------------------------------------------------------- */

static void on_exports(const struct tool_env *env, const struct copy_result *results, size_t n)
{
	struct mcp_room *room = container_of(env, struct connection, env)->transport;
	subscriptions_exported(&room->modern, results, n);
	list_for_each(s, &room->http->sessions, struct mcp_session, node)
		if (s->room == room)
			subscriptions_exported(&s->connection, results, n);
}

static char *export_link(const struct call *call, const char *export_id)
{
	const struct mcp_stream *s = call->origin;
	const struct mcp_http_spec *spec = &s->http->spec;
	return spec->link && s->base ? spec->link(spec->ctx, s->base, export_id) : NULL;
}

static void on_task(void *ctx, const struct task_info *task)
{
	struct mcp_room *room = ctx;
	tasks_changed(&room->modern, task);
}

void mcp_room_bind(struct mcp_room *room, struct connection *c)
{
	const struct mcp_http_spec *spec = &room->http->spec;
	messages_init(c, &(struct connection_spec){ .loop = spec->loop,
						    .conversation = room->conversation,
						    .config = spec->config,
						    .extension = spec->extension,
						    .app = spec->app,
						    .ops = &mcp_http_ops });
	c->transport = room;
	c->env.remote = true;
	c->env.link = export_link;
	c->env.on_exports = on_exports;
}

static struct mcp_room *find_room(struct mcp_http *h, const struct conversation *conversation)
{
	list_for_each(room, &h->rooms, struct mcp_room, node)
		if (room->conversation == conversation)
			return room;
	return NULL;
}

static struct mcp_room *room_new(struct mcp_http *h, struct conversation *conversation)
{
	struct mcp_room *room = new0(struct mcp_room);
	room->http = h;
	room->conversation = conversation;
	list_append(&h->rooms, &room->node);
	mcp_room_bind(room, &room->modern);
	room->modern.shared = true;
	tasks_take(conversation, h->spec.config, /* remote= */ true, on_task, room);
	return room;
}

/* Frees what belongs to a room. Its calls are gone already, or may not use the manager. */
static void room_drop(struct mcp_room *room)
{
	list_for_each(s, &room->http->sessions, struct mcp_session, node)
		if (s->room == room)
			mcp_session_drop(s);
	messages_release(&room->modern);
	list_for_each(s, &room->http->streams, struct mcp_stream, node)
		if (s->room == room)
			mcp_stream_free(s);
	list_remove(&room->node);
	free(room);
}

/* --- life ----------------------------------------------------------------------------------------------- */

static void on_tick(void *ctx)
{
	struct mcp_http *h = ctx;
	uint64_t now = loop_now_ms();
	list_for_each(s, &h->streams, struct mcp_stream, node) {
		if (is_modern(s) && s->has_request && !s->r)
			cancel(s);
		else
			mcp_stream_tick(s, now);
	}
	mcp_sessions_tick(h, now);
	if (list_empty(&h->streams))
		timer_stop(h->timer);
}

void mcp_http_watch(struct mcp_http *h)
{
	if (!timer_active(h->timer))
		timer_start(h->timer, MCP_HTTP_TICK_MS, MCP_HTTP_TICK_MS);
}

struct mcp_http *mcp_http_new(const struct mcp_http_spec *spec)
{
	struct mcp_http *h = new0(struct mcp_http);
	h->spec = *spec;
	h->spec.sessions_max = spec->sessions_max ? spec->sessions_max : SESSIONS_MAX;
	h->spec.sessions_per_key = spec->sessions_per_key ? spec->sessions_per_key : SESSIONS_PER_KEY;
	h->spec.unsent_max = spec->unsent_max ? spec->unsent_max : UNSENT_MAX;
	h->spec.idle_ms = spec->idle_ms ? spec->idle_ms : IDLE_MS;
	list_init(&h->rooms);
	list_init(&h->sessions);
	list_init(&h->streams);
	h->timer = timer_new(spec->loop, on_tick, h);
	return h;
}

struct mcp_http *mcp_http_free(struct mcp_http *h)
{
	if (!h)
		return NULL;
	list_for_each(room, &h->rooms, struct mcp_room, node)
		room_drop(room);
	if (h->spec.extension)
		h->spec.extension->close(h->spec.extension->ctx);
	timer_free(h->timer);
	for (size_t i = 0; i < MCP_ENDED_MAX; i++)
		free(h->ended[i]);
	free(h);
	return NULL;
}

void mcp_http_stop(struct mcp_http *h)
{
	h->stopping = true;
	list_for_each(room, &h->rooms, struct mcp_room, node)
		messages_end_listening(&room->modern);
	list_for_each(s, &h->sessions, struct mcp_session, node)
		mcp_stream_hang_up(s->general);
}

void mcp_http_forget(struct mcp_http *h, struct conversation *conversation)
{
	struct mcp_room *room = find_room(h, conversation);
	if (!room)
		return;
	messages_cancel_all(&room->modern);
	list_for_each(s, &h->sessions, struct mcp_session, node)
		if (s->room == room)
			mcp_session_free(s);
	room_drop(room);
}

void mcp_http_request(struct mcp_http *h, struct http_request *r, const struct mcp_http_caller *caller)
{
	if (h->stopping) {
		mcp_http_refuse(r, 503, "The server is stopping; try again");
		return;
	}
	struct mcp_room *room = find_room(h, caller->conversation);
	if (!room)
		room = room_new(h, caller->conversation);
	switch (http_request_head(r)->method) {
	case HTTP_METHOD_POST:
		on_post(room, r, caller);
		break;
	case HTTP_METHOD_GET:
		on_get(room, r, caller);
		break;
	case HTTP_METHOD_DELETE:
		on_delete(room, r, caller);
		break;
	default:
		mcp_http_refuse(r, 405, "Method not allowed: use POST");
		break;
	}
}

size_t mcp_http_sessions(const struct mcp_http *h)
{
	return h->n_sessions;
}

size_t mcp_http_kept(const struct mcp_http *h)
{
	return h->kept;
}
