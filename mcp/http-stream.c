#include "base/alloc.h"
#include "base/json.h"
#include "base/parse.h"
#include "http/events.h"
#include "mcp/http-private.h"

/* Limits of the events that are kept for readers that resume. An answer of the largest size fits. */
#define KEPT_SESSION_MAX (9u << 20)
#define KEPT_MAX (64u << 20)
#define GENERAL_EVENTS_MAX 256
/* A stream that has ended can be resumed for this time. */
#define ENDED_MS 300000
/* Streams of a session at another server have numbers from (its number << PLACE_SHIFT). */
#define PLACE_SHIFT 32
/* When a client should reconnect. */
#define RETRY_MS 1000

/* --- kept events */

static void event_drop(struct mcp_stream *s, struct mcp_event *e)
{
	list_remove(&e->node);
	s->n_events--;
	s->kept -= e->n;
	s->session->kept -= e->n;
	s->http->kept -= e->n;
	free(e);
}

static struct mcp_event *oldest(struct mcp_stream *s)
{
	return list_first(&s->events, struct mcp_event, node);
}

/* Drops the oldest events, those of streams that were written least recently first. The newest event stays. */
static void trim(struct mcp_session *session, const struct mcp_event *newest)
{
	struct mcp_http *h = session->http;
	struct mcp_event *e;
	list_for_each(s, &session->streams, struct mcp_stream, of_session)
		while (session->kept > KEPT_SESSION_MAX && (e = oldest(s)) && e != newest)
			event_drop(s, e);
	while (session->kept > KEPT_SESSION_MAX && (e = oldest(session->general)) && e != newest)
		event_drop(session->general, e);
	list_for_each(s, &h->streams, struct mcp_stream, node)
		while (h->kept > KEPT_MAX && (e = oldest(s)) && e != newest)
			event_drop(s, e);
}

static void keep(struct mcp_stream *s, const struct buf *text)
{
	struct mcp_event *e = xcalloc(1, sizeof(*e) + text->len);
	e->number = s->last;
	e->n = text->len;
	memcpy(e->text, text->data, text->len);
	list_append(&s->events, &e->node);
	s->n_events++;
	s->kept += e->n;
	s->session->kept += e->n;
	s->http->kept += e->n;
	while (s == s->session->general && s->n_events > GENERAL_EVENTS_MAX)
		event_drop(s, oldest(s));
	trim(s->session, e);
}

/* --- life */

struct mcp_stream *mcp_stream_new(struct mcp_room *room, struct http_request *r)
{
	struct mcp_stream *s = new0(struct mcp_stream);
	s->http = room->http;
	s->room = room;
	s->r = r;
	s->since_ms = loop_now_ms();
	list_init(&s->events);
	list_init(&s->of_session);
	list_append(&s->http->streams, &s->node);
	if (r)
		http_request_on_closed(r, mcp_http_closed, s);
	mcp_http_watch(s->http);
	return s;
}

void mcp_stream_free(struct mcp_stream *s)
{
	if (s->r)
		http_reply_abort(s->r);
	if (s->ticket)
		s->ticket->stream = NULL;
	list_for_each(e, &s->events, struct mcp_event, node)
		event_drop(s, e);
	list_remove(&s->node);
	list_remove(&s->of_session);
	free(s->key);
	free(s->base);
	free(s);
}

void mcp_stream_join(struct mcp_stream *s, struct mcp_session *session)
{
	s->session = session;
	s->number = (s->place << PLACE_SHIFT) + ++session->n_streams;
	list_append(&session->streams, &s->of_session);
}

/* --- answers without events */

static void add_session(struct http_fields *fields, const struct mcp_stream *s)
{
	if (s->begins && s->session->connection.initialized)
		http_fields_add(fields, "Mcp-Session-Id", mcp_session_name(s->session));
}

void mcp_stream_reply(struct mcp_stream *s, int status, const void *text, size_t n)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (n)
		http_fields_add(&fields, "Content-Type", "application/json");
	http_fields_add(&fields, "Cache-Control", "no-store");
	add_session(&fields, s);
	if (s->r)
		http_reply(take_ptr(s->r), status, &fields, text, n);
	mcp_stream_free(s);
}

void mcp_stream_refuse(struct mcp_stream *s, int status, json_t *id, int code, const char *message, json_t *data)
{
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *error = rpc_error(id, code, message, data);
	json_print(&text, error);
	mcp_stream_reply(s, status, text.data, text.len);
}

void mcp_http_refuse(struct http_request *r, int status, const char *message)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	AUTO(buf_release) struct buf text = { 0 };
	json_auto_t *error = rpc_error(NULL, RPC_INVALID_REQUEST, message, NULL);
	json_print(&text, error);
	http_fields_add(&fields, "Content-Type", "application/json");
	if (status == 405)
		http_fields_add(&fields, "Allow", "POST");
	if (status == 503)
		http_fields_add(&fields, "Retry-After", "5");
	http_reply(r, status, &fields, text.data, text.len);
}

/* --- events */

static void write_out(struct mcp_stream *s, const void *data, size_t n)
{
	http_reply_write(s->r, data, n);
	s->since_ms = loop_now_ms();
	list_remove(&s->node);
	list_append(&s->http->streams, &s->node);
}

static void send_head(struct mcp_stream *s)
{
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	http_fields_add(&fields, "Content-Type", "text/event-stream");
	http_fields_add(&fields, "Cache-Control", "no-cache, no-transform");
	http_fields_add(&fields, "X-Accel-Buffering", "no");
	add_session(&fields, s);
	s->begun = true;
	http_reply_begin(s->r, 200, &fields, -1);
}

/* Begins a stream of events. In revisions that have it, an empty event comes first: its id allows a client to resume
 * before it got any other. */
static void begin(struct mcp_stream *s, uint64_t after)
{
	send_head(s);
	if (!s->session || !s->session->connection.legacy->primes_streams)
		return;
	AUTO(buf_release) struct buf first = { 0 };
	char id[64];
	snprintf(id, sizeof(id), "%llu-%llu", (unsigned long long)s->number, (unsigned long long)after);
	http_event_add_retry(&first, RETRY_MS);
	http_event_add(&first, id, NULL, "", 0);
	write_out(s, first.data, first.len);
}

/* A reader that is too slow is disconnected, and resumes if it can. */
static bool keeps_up(struct mcp_stream *s)
{
	if (http_reply_queued(s->r) <= s->http->spec.unsent_max)
		return true;
	http_reply_abort(take_ptr(s->r));
	/* A request of 2026-07-28 is cancelled by the timer, because the caller of this function still uses it. */
	timer_start(s->http->timer, 0, MCP_HTTP_TICK_MS);
	return false;
}

void mcp_stream_send(struct mcp_stream *s, const struct buf *text)
{
	AUTO(buf_release) struct buf event = { 0 };
	char id[64];
	if (s->r && !s->begun)
		begin(s, s->last);
	s->last++;
	snprintf(id, sizeof(id), "%llu-%llu", (unsigned long long)s->number, (unsigned long long)s->last);
	http_event_add(&event, s->session ? id : NULL, "message", text->data, text->len);
	if (s->r && keeps_up(s)) {
		write_out(s, event.data, event.len);
		s->sent = s->last;
	}
	if (s->session && (s->begun || s == s->session->general)) {
		keep(s, &event);
		list_remove(&s->of_session);
		if (s != s->session->general)
			list_append(&s->session->streams, &s->of_session);
	}
}

void mcp_stream_end(struct mcp_stream *s)
{
	bool resumable = s->session && s->begun;
	/* A cancelled request of a session: there is no answer, but HTTP needs one. */
	if (s->r && !s->begun)
		send_head(s);
	if (s->r)
		http_reply_end(take_ptr(s->r));
	s->ended = true;
	s->since_ms = loop_now_ms();
	if (!resumable)
		mcp_stream_free(s);
}

void mcp_stream_resume(struct mcp_stream *s, struct http_request *r, uint64_t after)
{
	/* The client has lost its former connection, even if that is not known here yet. */
	if (s->r)
		http_reply_end(take_ptr(s->r));
	s->r = r;
	http_request_on_closed(r, mcp_http_closed, s);
	begin(s, after);
	list_for_each(e, &s->events, struct mcp_event, node)
		if (e->number > after)
			write_out(s, e->text, e->n);
	s->sent = s->last;
	if (s->ended)
		http_reply_end(take_ptr(s->r));
}

void mcp_stream_hang_up(struct mcp_stream *s)
{
	if (!s->r)
		return;
	if (!s->begun)
		begin(s, s->last);
	http_reply_end(take_ptr(s->r));
}

void mcp_stream_tick(struct mcp_stream *s, uint64_t now)
{
	/* since_ms may be later than now: streams that were just written are seen twice. */
	if (s->ended && now >= s->since_ms + ENDED_MS) {
		mcp_stream_free(s);
		return;
	}
	bool waits = s->has_request || (s->session && s == s->session->general);
	if (!s->r || !waits || !s->accepts_events || now < s->since_ms + MCP_HTTP_ALIVE_MS)
		return;
	AUTO(buf_release) struct buf comment = { 0 };
	if (!s->begun)
		begin(s, s->last);
	http_event_add_comment(&comment, "alive");
	write_out(s, comment.data, comment.len);
}

struct mcp_stream *mcp_stream_find(struct mcp_session *session, const char *event_id, uint64_t *ret_after)
{
	AUTO(freep) char *number = xstrdup(event_id);
	char *dash = strchr(number, '-');
	uint64_t stream, event;
	if (!dash)
		return NULL;
	*dash = 0;
	if (parse_u64(number, &stream) < 0 || parse_u64(dash + 1, &event) < 0)
		return NULL;
	struct mcp_stream *found = stream == 0 ? session->general : NULL;
	list_for_each(s, &session->streams, struct mcp_stream, of_session)
		if (stream != 0 && s->number == stream)
			found = s;
	if (!found || event > found->last)
		return NULL;
	*ret_after = event;
	return found;
}

uint64_t mcp_stream_place(const char *event_id)
{
	uint64_t stream;
	AUTO(freep) char *number = xstrndup(event_id, strcspn(event_id, "-"));
	return parse_u64(number, &stream) == 0 ? stream >> PLACE_SHIFT : 0;
}
