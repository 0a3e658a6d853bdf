#include "mcp/subscriptions.h"

#include "base/alloc.h"
#include "base/json.h"
#include "mcp/extension.h"
#include "mcp/resources.h"
#include "mcp/rpc.h"

#define URI_MAX 4096
/* Maximum numbers of subscriptions per connection and per request. */
#define SUBSCRIPTIONS_MAX 256
#define LISTENED_MAX 64
#define META_NEWER "dev.husk/export"

struct subscription {
	struct list node;
	const struct call *call; /* NULL = the connection itself, in a legacy era */
	char *uri;		 /* NULL = changes of the list */
	char *session_id, *path; /* path of the export; NULL = all exports */
};

static void subscription_free(struct subscription *s)
{
	list_remove(&s->node);
	free(s->uri);
	free(s->session_id);
	free(s->path);
	free(s);
}

static struct subscription *add(struct connection *c, const struct call *call, const char *uri,
				const struct export_info *e)
{
	struct subscription *s = new0(struct subscription);
	s->call = call;
	s->uri = uri ? xstrdup(uri) : NULL;
	if (e) {
		s->session_id = xstrdup(e->session_id);
		s->path = xstrdup(e->path);
	}
	list_append(&c->subscriptions, &s->node);
	return s;
}

static struct subscription *find(struct connection *c, const struct call *call, const char *uri)
{
	list_for_each(s, &c->subscriptions, struct subscription, node)
		if (s->call == call && s->uri && streq(s->uri, uri))
			return s;
	return NULL;
}

/* --- notifications ------------------------------------------------------------------------------------------------- */

static void tell(struct connection *c, const struct subscription *s, const char *method, json_t *params)
{
	json_t *meta = json_object_get(params, "_meta");
	if (s && s->call) {
		if (!meta)
			json_object_set_new(params, "_meta", meta = json_object());
		json_object_set(meta, META_SUBSCRIPTION, s->call->id);
	}
	connection_notify(c, s ? s->call : NULL, rpc_notification(method, params));
}

static void tell_of(struct connection *c, const struct subscription *s, const struct export_info *e)
{
	if (!s->session_id)
		tell(c, s, "notifications/resources/updated", json_pack("{s:o}", "uri", json_text(e->uri)));
	else if (streq(s->session_id, e->session_id) && streq(s->path, e->path))
		tell(c, s, "notifications/resources/updated",
		     json_pack("{s:s, s:{s:o}}", "uri", s->uri, "_meta", META_NEWER, json_text(e->uri)));
}

void subscriptions_exported(struct connection *c, const struct copy_result *results, size_t n)
{
	size_t made = 0;
	for (size_t i = 0; i < n; i++)
		made += results[i].success;
	if (!made)
		return;
	if (c->initialized)
		tell(c, NULL, "notifications/resources/list_changed", json_object());
	list_for_each(s, &c->subscriptions, struct subscription, node) {
		if (s->call && !s->call->listening)
			continue;
		if (!s->uri)
			tell(c, s, "notifications/resources/list_changed", json_object());
		for (size_t i = 0; s->uri && i < n; i++)
			if (results[i].success)
				tell_of(c, s, &results[i].export);
	}
}

/* --- legacy eras ----------------------------------------------------------------------------------------------------- */

/* Returns true if uri is a short string; otherwise answers the request with an error. */
static bool check_uri(struct call *call, const json_t *uri)
{
	if (json_is_string(uri) && json_string_length(uri) <= URI_MAX &&
	    strlen(json_string_value(uri)) == json_string_length(uri))
		return true;
	call_reply_error(call, RPC_INVALID_PARAMS, "Invalid params: \"uri\" must be a string of at most 4096 bytes",
			 NULL);
	return false;
}

/* True for resources that can be subscribed to without reading the store. */
static bool is_fixed(const struct connection *c, const char *uri)
{
	return streq(uri, RESOURCES_EXPORTS) || (c->extension && c->extension->has_resource(c->extension->ctx, uri));
}

static void on_found(void *ctx, const struct export_info *info, const uint8_t *data, size_t n, const struct fail *f)
{
	struct call *call = ctx;
	struct connection *c = *(struct connection **)call->decoded;
	const char *uri = json_string_value(json_object_get(call->args, "uri"));
	call->op = NULL;
	if (f) {
		resources_fail(call, f);
	} else if (!info) {
		resources_not_found(call);
	} else {
		if (!find(c, NULL, uri))
			add(c, NULL, uri, info);
		call_reply(call, json_object());
	}
}

void subscriptions_subscribe(struct connection *c, struct call *call, json_t *params)
{
	json_t *uri = json_object_get(params, "uri");
	AUTO(fail_release) struct fail f = { 0 };
	if (!check_uri(call, uri))
		return;
	call->args = json_pack("{s:O}", "uri", uri);
	const char *text = json_string_value(uri);
	if (find(c, NULL, text)) {
		call_reply(call, json_object());
		return;
	}
	if (list_length(&c->subscriptions) >= SUBSCRIPTIONS_MAX) {
		call_reply_error(call, RPC_INTERNAL_ERROR, "Too many subscriptions", NULL);
		return;
	}
	AUTO(freep) char *id = resources_export_id(text);
	if (is_fixed(c, text)) {
		add(c, NULL, text, NULL);
		call_reply(call, json_object());
	} else if (!id) {
		resources_not_found(call);
	} else {
		struct connection **kept = xcalloc(1, sizeof(struct connection *));
		*kept = c;
		call->decoded = kept;
		call->op = manager_read_export(
			c->env.conversation, &(struct read_request){ .id = id, .on_done = on_found, .ctx = call }, &f);
		if (!call->op)
			resources_fail(call, &f);
	}
}

void subscriptions_unsubscribe(struct connection *c, struct call *call, json_t *params)
{
	json_t *uri = json_object_get(params, "uri");
	if (!check_uri(call, uri))
		return;
	struct subscription *s = find(c, NULL, json_string_value(uri));
	if (s)
		subscription_free(s);
	call_reply(call, json_object());
}

/* --- subscriptions/listen --------------------------------------------------------------------------------------------- */

/* The state of a request while the store is asked which exports exist; stored in the request's `decoded`. */
struct finding {
	struct connection *connection;
	size_t next;
	void (*on_ready)(struct connection *c, struct call *call);
};

static json_t *uris_of(const struct call *call)
{
	return json_object_get(json_object_get(call->args, "notifications"), "resourceSubscriptions");
}

static void find_next(struct call *call);

static void on_listened(void *ctx, const struct export_info *info, const uint8_t *data, size_t n, const struct fail *f)
{
	struct call *call = ctx;
	struct finding *l = call->decoded;
	const char *uri = json_string_value(json_array_get(uris_of(call), l->next - 1));
	call->op = NULL;
	if (info && !find(l->connection, call, uri))
		add(l->connection, call, uri, info);
	find_next(call);
}

static void find_next(struct call *call)
{
	struct finding *l = call->decoded;
	struct connection *c = l->connection;
	while (l->next < json_array_size(uris_of(call))) {
		AUTO(fail_release) struct fail f = { 0 };
		const char *uri = json_string_value(json_array_get(uris_of(call), l->next++));
		AUTO(freep) char *id = resources_export_id(uri);
		if (list_length(&c->subscriptions) >= SUBSCRIPTIONS_MAX || find(c, call, uri))
			continue;
		if (is_fixed(c, uri))
			add(c, call, uri, NULL);
		else if (id)
			call->op = manager_read_export(
				c->env.conversation,
				&(struct read_request){ .id = id, .on_done = on_listened, .ctx = call }, &f);
		if (call->op)
			return;
	}
	l->on_ready(c, call);
}

static bool are_uris(const json_t *list)
{
	if (!json_is_array(list) || json_array_size(list) > LISTENED_MAX)
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *uri = json_array_get(list, i);
		if (!json_is_string(uri) || json_string_length(uri) > URI_MAX ||
		    json_string_length(uri) != strlen(json_string_value(uri)))
			return false;
	}
	return true;
}

void subscriptions_listen(struct connection *c, struct call *call, json_t *params,
			  void (*on_ready)(struct connection *c, struct call *call))
{
	const json_t *wanted = json_object_get(params, "notifications");
	json_t *uris = json_object_get(wanted, "resourceSubscriptions");
	if (uris && !json_is_null(uris) && !are_uris(uris)) {
		call_reply_error(call, RPC_INVALID_PARAMS,
				 "Invalid params: \"resourceSubscriptions\" must be a list of strings, 64 at most",
				 NULL);
		return;
	}
	if (json_is_true(json_object_get(wanted, "resourcesListChanged")) &&
	    list_length(&c->subscriptions) < SUBSCRIPTIONS_MAX)
		add(c, call, NULL, NULL);
	struct finding *l = new0(struct finding);
	*l = (struct finding){ .connection = c, .on_ready = on_ready };
	call->decoded = l;
	call->args = json_incref(params);
	find_next(call);
}

void subscriptions_acknowledge(struct connection *c, const struct call *call, json_t *honoured)
{
	json_t *uris = json_array();
	list_for_each(s, &c->subscriptions, struct subscription, node) {
		if (s->call != call)
			continue;
		if (s->uri)
			json_array_append_new(uris, json_string(s->uri));
		else
			json_object_set_new(honoured, "resourcesListChanged", json_true());
	}
	if (json_array_size(uris))
		json_object_set(honoured, "resourceSubscriptions", uris);
	json_decref(uris);
}

/* --- lifetime ---------------------------------------------------------------------------------------------------------- */

void subscriptions_drop(struct connection *c, const struct call *call)
{
	list_for_each(s, &c->subscriptions, struct subscription, node)
		if (s->call == call)
			subscription_free(s);
}

static void on_exports(const struct tool_env *env, const struct copy_result *results, size_t n)
{
	subscriptions_exported(container_of(env, struct connection, env), results, n);
}

void subscriptions_bind(struct connection *c)
{
	list_init(&c->subscriptions);
	c->env.on_exports = on_exports;
}

void subscriptions_release(struct connection *c)
{
	list_for_each(s, &c->subscriptions, struct subscription, node)
		subscription_free(s);
}
