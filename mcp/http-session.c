#include "base/alloc.h"
#include "base/json.h"
#include "mcp/apps.h"
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
	free(s->id);
	strv_release(&s->helpers);
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
		if (s->id && streq(s->id, id))
			return s->room == room && streq(s->key, key) ? s : NULL;
	return NULL;
}

/* --- ids ------------------------------------------------------------------------------------------------ */

/* An id is a random name, or such a name, a dot, and the sealed state. Longer capabilities are left out. */
#define STATE_MAX 1024

/* Capabilities that matter for a server elsewhere. */
static json_t *kept_capabilities(const json_t *all)
{
	json_t *kept = json_object(), *asks = json_object_get(all, "elicitation");
	if (asks)
		json_object_set(kept, "elicitation", asks);
	if (apps_declared(all))
		json_object_set_new(kept, "extensions", apps_capability());
	return kept;
}

static char *sealed_state(const struct mcp_session *s)
{
	const struct mcp_http_spec *spec = &s->http->spec;
	AUTO(buf_release) struct buf text = { 0 };
	char name[RANDOM_NAME_SIZE];
	if (!spec->seal)
		return NULL;
	random_name(name);
	json_auto_t *state = json_pack("{s:s, s:s, s:o}", "name", name, "version", s->connection.legacy->name,
				       "capabilities", kept_capabilities(s->connection.capabilities));
	json_print(&text, state);
	if (text.len > STATE_MAX)
		return NULL;
	AUTO(freep) char *sealed = spec->seal(spec->ctx, s->room->conversation, s->key, buf_str(&text));
	return sealed ? xasprintf("%s.%s", name, sealed) : NULL;
}

const char *mcp_session_name(struct mcp_session *s)
{
	char name[RANDOM_NAME_SIZE];
	if (!s->id)
		s->id = sealed_state(s);
	if (!s->id) {
		random_name(name);
		s->id = xstrdup(name);
	}
	return s->id;
}

static bool has_ended(const struct mcp_http *h, const char *id)
{
	for (size_t i = 0; i < MCP_ENDED_MAX; i++)
		if (h->ended[i] && streq(h->ended[i], id))
			return true;
	return false;
}

void mcp_session_end(struct mcp_session *s)
{
	struct mcp_http *h = s->http;
	char **place = &h->ended[h->next_ended++ % MCP_ENDED_MAX];
	free(*place);
	*place = take_ptr(s->id);
	mcp_session_free(s);
}

struct mcp_session *mcp_session_continue(struct mcp_room *room, const char *key, unsigned scopes, const char *id)
{
	const struct mcp_http_spec *spec = &room->http->spec;
	const char *dot = strchr(id, '.');
	if (!spec->unseal || !dot || has_ended(room->http, id))
		return NULL;
	AUTO(freep) char *text = spec->unseal(spec->ctx, room->conversation, key, dot + 1);
	json_auto_t *state = text ? json_loads(text, 0, NULL) : NULL;
	const char *name = json_string_value(json_object_get(state, "name"));
	const char *version = json_string_value(json_object_get(state, "version"));
	const struct revision *revision = version ? revision_find(version) : NULL;
	bool valid = name && strlen(name) == (size_t)(dot - id) && strncmp(id, name, strlen(name)) == 0;
	if (!valid || !revision || revision->modern)
		return NULL;
	struct mcp_session *s = mcp_session_new(room, key, scopes);
	if (!s)
		return NULL;
	s->id = xstrdup(id);
	s->connection.legacy = revision;
	s->connection.initialized = true;
	s->connection.capabilities = json_incref(json_object_get(state, "capabilities"));
	return s;
}

/* Far more servers than a session uses. */
#define HELPERS_MAX 64

uint64_t mcp_session_helper(struct mcp_session *s, const char *address)
{
	for (size_t i = 0; i < s->helpers.n; i++)
		if (streq(s->helpers.v[i], address))
			return i + 1;
	if (s->helpers.n >= HELPERS_MAX)
		return 0;
	strv_add(&s->helpers, address);
	return s->helpers.n;
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
