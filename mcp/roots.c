#include "mcp/roots.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "mcp/client-request.h"

/* Time limit for the client's answer. */
#define ANSWER_MS 5000
#define ROOTS_MAX 64
#define PATH_BYTES_MAX 4096

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	       c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 :
				      -1;
}

char *roots_path(const char *uri)
{
	static const char *const starts[] = { "file://localhost/", "file:///" };
	AUTO(buf_release) struct buf path = { 0 };
	const char *at = NULL;
	for (size_t i = 0; !at && i < ARRAY_LEN(starts); i++)
		if (strncasecmp(uri, starts[i], strlen(starts[i])) == 0)
			at = uri + strlen(starts[i]) - 1;
	if (!at || strlen(at) > PATH_BYTES_MAX || strpbrk(at, "?#"))
		return NULL;
	for (; *at; at++) {
		char byte = *at;
		if (byte == '%') {
			int high = hex(at[1]), low = high < 0 ? -1 : hex(at[2]);
			if (low < 0 || !(high << 4 | low))
				return NULL;
			byte = (char)(high << 4 | low);
			at += 2;
		}
		buf_add(&path, &byte, 1);
	}
	return utf8_valid((const char *)path.data, path.len) ? buf_steal_str(&path) : NULL;
}

static void take_roots(struct connection *c, const json_t *list)
{
	strv_release(&c->env.roots);
	for (size_t i = 0; i < MIN(json_array_size(list), (size_t)ROOTS_MAX); i++) {
		const char *uri = json_string_value(json_object_get(json_array_get(list, i), "uri"));
		AUTO(freep) char *path = uri ? roots_path(uri) : NULL;
		if (path)
			strv_add(&c->env.roots, path);
	}
}

/* A request that waits for the roots; owned by the request. */
struct held {
	struct list node;
	struct connection *connection;
	struct call *call;
	const struct tool *tool;
	json_t *args;
};

static void held_free(void *data)
{
	struct held *h = data;
	list_remove(&h->node);
	json_decref(h->args);
	free(h);
}

static void resume(struct connection *c)
{
	for (struct held *h; (h = list_first(&c->roots.held, struct held, node));) {
		struct call *call = h->call;
		const struct tool *tool = h->tool;
		json_auto_t *args = json_incref(h->args);
		call->data = NULL;
		call->data_free = NULL;
		held_free(h);
		tools_call(call, tool, args, &c->env, /* state= */ NULL, /* answers= */ NULL);
	}
}

void roots_declare(struct connection *c, const json_t *capabilities)
{
	/* The folders of a client that is elsewhere are not folders of this host. */
	c->env.has_roots = !c->env.remote && json_is_object(json_object_get(capabilities, "roots"));
	c->roots.known = false;
}

void roots_changed(struct connection *c)
{
	c->roots.known = false;
}

/* If a client refuses or does not answer, it counts as having no roots, because earlier ones may be outdated. */
static void on_roots(void *ctx, json_t *result)
{
	struct connection *c = ctx;
	c->roots.request = NULL;
	take_roots(c, json_object_get(result, "roots"));
	resume(c);
}

/* Cancels an earlier request, because the answer to it may be outdated. */
static void request_roots(struct connection *c, const struct call *call)
{
	client_request_cancel(c->roots.request, call);
	c->roots.known = true;
	c->roots.request = client_request_send(c, call, "roots/list", /* params= */ NULL, ANSWER_MS, on_roots, c);
}

static bool names_a_path(json_t *args)
{
	size_t i;
	json_t *entry;
	json_array_foreach(json_object_get(args, "files"), i, entry)
		if (json_object_get(entry, "source"))
			return true;
	return false;
}

bool roots_hold(struct connection *c, struct call *call, const struct tool *tool, json_t *args)
{
	if (!c->env.has_roots || call->revision->modern || tool != &tool_import_files || !names_a_path(args))
		return false;
	if (!c->roots.known)
		request_roots(c, call);
	if (!c->roots.request)
		return false;
	struct held *h = new0(struct held);
	h->connection = c;
	h->call = call;
	h->tool = tool;
	h->args = json_incref(args);
	list_append(&c->roots.held, &h->node);
	call->data = h;
	call->data_free = held_free;
	return true;
}

void roots_bind(struct connection *c)
{
	list_init(&c->roots.held);
}

void roots_release(struct connection *c)
{
	strv_release(&c->env.roots);
}
