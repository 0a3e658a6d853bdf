#include "api/conversations.h"

#include "base/alloc.h"
#include "base/list.h"

/* Further conversations replace those that no request uses, of the tenant that has the most. A tenant that names many
 * conversations thus closes its own, and not those of others with their MCP sessions. */
#define CONVERSATIONS_MAX 256

struct used_conversation {
	struct list node; /* the least recently used is first */
	struct conversation *conversation;
	char *id, *tenant;
	unsigned users; /* requests that use it */
};

struct conversations {
	struct manager *manager;
	struct conversation *own;
	void (*on_close)(void *ctx, struct conversation *c);
	void *ctx;
	struct list list; /* of struct used_conversation */
	size_t n;
};

struct conversations *conversations_new(struct manager *m, struct conversation *own,
					void (*on_close)(void *ctx, struct conversation *c), void *ctx)
{
	struct conversations *c = new0(struct conversations);
	c->manager = m;
	c->own = own;
	c->on_close = on_close;
	c->ctx = ctx;
	list_init(&c->list);
	return c;
}

static void forget(struct conversations *c, struct used_conversation *u)
{
	list_remove(&u->node);
	c->n--;
	free(u->id);
	free(u->tenant);
	free(u);
}

struct conversations *conversations_free(struct conversations *c)
{
	if (!c)
		return NULL;
	list_for_each(u, &c->list, struct used_conversation, node)
		forget(c, u);
	free(c);
	return NULL;
}

static struct used_conversation *find(struct conversations *c, const char *id)
{
	list_for_each(u, &c->list, struct used_conversation, node)
		if (streq(u->id, id))
			return u;
	return NULL;
}

static size_t count_of_tenant(struct conversations *c, const char *tenant)
{
	size_t n = 0;
	list_for_each(u, &c->list, struct used_conversation, node)
		n += streq(u->tenant, tenant);
	return n;
}

static bool make_room(struct conversations *c)
{
	struct used_conversation *chosen = NULL;
	size_t most = 0;
	if (c->n < CONVERSATIONS_MAX)
		return true;
	list_for_each(u, &c->list, struct used_conversation, node) {
		size_t n = u->users || (chosen && streq(u->tenant, chosen->tenant)) ? 0 : count_of_tenant(c, u->tenant);
		chosen = n > most ? u : chosen;
		most = MAX(n, most);
	}
	if (!chosen)
		return false;
	if (c->on_close)
		c->on_close(c->ctx, chosen->conversation);
	conversation_close(chosen->conversation);
	forget(c, chosen);
	return true;
}

struct conversation *conversations_get(struct conversations *c, const char *id, struct fail *f)
{
	const char *own = conversation_id(c->own);
	if (!id || (own && streq(id, own)))
		return c->own;
	struct used_conversation *u = find(c, id);
	if (!u && !make_room(c)) {
		fail_set(f, FAIL_LIMIT, "Requests of %d conversations are in progress; try again later.",
			 CONVERSATIONS_MAX);
		return NULL;
	}
	if (!u) {
		u = new0(struct used_conversation);
		u->id = xstrdup(id);
		u->tenant = tenant_of(id);
		u->conversation = conversation_open(c->manager, &(struct conversation_spec){ .id = id });
		c->n++;
	} else {
		list_remove(&u->node);
	}
	list_append(&c->list, &u->node);
	u->users++;
	return u->conversation;
}

void conversations_put(struct conversations *c, struct conversation *conversation)
{
	list_for_each(u, &c->list, struct used_conversation, node)
		if (u->conversation == conversation)
			u->users--;
}
