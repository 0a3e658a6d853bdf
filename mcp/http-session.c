#include "base/alloc.h"
#include "mcp/http-private.h"
#include "mcp/messages.h"

static bool is_idle(const struct mcp_session *s)
{
	bool reads = s->general->r;
	list_for_each(stream, &s->streams, struct mcp_stream, of_session)
		reads = reads || stream->r;
	return !reads && !s->connection.n_calls;
}

/* Makes room for one more session: ends the session that was idle for longest. key NULL = of any key. */
static bool evict(struct mcp_http *h, const char *key)
{
	list_for_each(s, &h->sessions, struct mcp_session, node) {
		if ((key && !streq(s->key, key)) || !is_idle(s))
			continue;
		mcp_session_free(s);
		return true;
	}
	return false;
}

static size_t count(const struct mcp_http *h, const char *key)
{
	size_t n = 0;
	list_for_each(s, &h->sessions, struct mcp_session, node)
		n += streq(s->key, key);
	return n;
}

struct mcp_session *mcp_session_new(struct mcp_room *room, const char *key, unsigned scopes)
{
	struct mcp_http *h = room->http;
	if (count(h, key) >= h->spec.sessions_per_key && !evict(h, key))
		return NULL;
	if (h->n_sessions >= h->spec.sessions_max && !evict(h, NULL))
		return NULL;
	struct mcp_session *s = new0(struct mcp_session);
	s->http = h;
	s->room = room;
	s->key = xstrdup(key);
	random_name(s->id);
	list_init(&s->streams);
	list_append(&h->sessions, &s->node);
	h->n_sessions++;
	mcp_room_bind(room, &s->connection);
	s->connection.hides_log = !scopes_allow(scopes, SCOPE_ADMIN);
	s->general = mcp_stream_new(room, /* r= */ NULL);
	s->general->session = s;
	s->general->accepts_events = true;
	mcp_session_use(s);
	return s;
}

void mcp_session_drop(struct mcp_session *s)
{
	messages_release(&s->connection);
	list_for_each(stream, &s->streams, struct mcp_stream, of_session)
		mcp_stream_free(stream);
	mcp_stream_free(s->general);
	list_remove(&s->node);
	s->http->n_sessions--;
	free(s->key);
	free(s);
}

void mcp_session_free(struct mcp_session *s)
{
	messages_cancel_all(&s->connection);
	mcp_stream_hang_up(s->general);
	mcp_session_drop(s);
}

struct mcp_session *mcp_session_find(struct mcp_http *h, const struct mcp_room *room, const char *key, const char *id)
{
	list_for_each(s, &h->sessions, struct mcp_session, node)
		if (streq(s->id, id))
			return s->room == room && streq(s->key, key) ? s : NULL;
	return NULL;
}

void mcp_session_use(struct mcp_session *s)
{
	s->used_ms = loop_now_ms();
	list_remove(&s->node);
	list_append(&s->http->sessions, &s->node);
}

void mcp_sessions_tick(struct mcp_http *h, uint64_t now)
{
	list_for_each(s, &h->sessions, struct mcp_session, node) {
		if (!is_idle(s))
			s->used_ms = now;
		else if (now >= s->used_ms + h->spec.idle_ms)
			mcp_session_free(s);
	}
}
