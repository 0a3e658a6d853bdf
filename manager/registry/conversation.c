#include "manager/registry/conversation.h"

#include "base/alloc.h"
#include "base/work.h"
#include "manager/line/run.h"
#include "manager/model/cause.h"
#include "manager/model/tenant.h"
#include "manager/registry/own-id.h"

/* A worker job that reads and writes the conversation's files. */
struct preparation {
	struct conversation *conversation; /* borrowed; the worker job does not touch it */
	struct registry *registry;
	/* Used by the worker job while it runs. */
	char *state_dir, *server, *id;
	bool make, lock;
	char *lock_path;
	int lock_fd;
};

static void prepare_next(struct conversation *c);

bool conversation_is_prepared(const struct conversation *c)
{
	return c->id && c->registry->self.lock_path;
}

int conversation_check(const struct conversation *c, const char *owner, const char *session, struct fail *f)
{
	if (c->id && streq(c->id, owner))
		return 0;
	if (c->id && !tenant_is_same(c->id, owner))
		return cause_no_session(f, session);
	return cause_set(
		f, FAIL_FOREIGN, CAUSE_OTHER_CONVERSATION,
		"Session '%.64s' belongs to another conversation. Use a session from your own conversation or create a new one.",
		session);
}

static void preparation_free(struct preparation *p)
{
	closep(&p->lock_fd);
	free(p->lock_path);
	free(p->state_dir);
	free(p->server);
	free(p->id);
	free(p);
}

static void work_on_disk(void *ctx)
{
	struct preparation *p = ctx;
	struct config config = { .state_dir = p->state_dir };
	if (!p->id)
		p->id = p->make ? own_id_load(p->state_dir) : own_id_known(p->state_dir);
	if (p->lock)
		p->lock_fd = owner_lock(&config, p->server, &p->lock_path);
}

static void on_prepared(void *ctx, bool forgotten)
{
	struct preparation *p = ctx;
	struct conversation *c = p->conversation;
	if (forgotten) {
		preparation_free(p);
		return;
	}
	c->work = NULL;
	if (!c->id)
		c->id = take_ptr(p->id);
	if (p->lock_path) {
		owner_announce(&p->registry->self, take_ptr(p->lock_path), p->lock_fd);
		p->lock_fd = -1;
	}
	preparation_free(p);
	struct list waits;
	list_init(&waits);
	/* Waits that need more than this worker job has done stay in the list for the next job. */
	list_for_each(w, &c->waits, struct conversation_wait, node) {
		if (w->make && !conversation_is_prepared(c))
			continue;
		list_remove(&w->node);
		list_append(&waits, &w->node);
	}
	for (struct conversation_wait *w; (w = list_first(&waits, struct conversation_wait, node));) {
		list_remove(&w->node);
		w->fn(w->ctx, c->id);
	}
	prepare_next(c);
}

static void prepare_next(struct conversation *c)
{
	struct registry *r = c->registry;
	bool make = false;
	if (c->work || list_empty(&c->waits))
		return;
	list_for_each(w, &c->waits, struct conversation_wait, node)
		make |= w->make;
	struct preparation *p = new0(struct preparation);
	p->conversation = c;
	p->registry = r;
	p->make = make;
	p->lock = make && !r->self.lock_path;
	p->lock_fd = -1;
	p->id = c->id ? xstrdup(c->id) : NULL;
	p->state_dir = xstrdup(r->config->state_dir);
	p->server = xstrdup(r->self.id);
	c->work = work_start(r->loop, &(struct work_spec){ .fn = work_on_disk, .on_done = on_prepared, .ctx = p });
}

void conversation_prepare(struct conversation *c, struct conversation_wait *wait)
{
	list_append(&c->waits, &wait->node);
	prepare_next(c);
}

struct conversation *conversation_open(struct manager *m, const struct conversation_spec *spec)
{
	struct registry *r = &m->registry;
	struct conversation *c = new0(struct conversation);
	const char *id = spec && spec->id ? spec->id : r->config->thread_id;
	c->registry = r;
	c->id = id ? xstrdup(id) : NULL;
	c->max_sessions = spec && spec->max_sessions ? spec->max_sessions : r->config->max_sessions_per_thread;
	list_init(&c->waits);
	list_init(&c->warm.node);
	list_init(&c->watches);
	list_append(&r->conversations, &c->node);
	return c;
}

void conversation_free(struct conversation *c)
{
	list_for_each(w, &c->waits, struct conversation_wait, node)
		list_remove(&w->node);
	if (c->work)
		work_forget(c->work);
	list_remove(&c->node);
	list_for_each(w, &c->watches, struct conversation_watch, node)
		free(w);
	free(c->tasks);
	free(c->id);
	free(c);
}

/* --- faces ------------------------------------------------------------------------------------------------------- */

static struct task_handler *find_tasks(const struct conversation *c, const char *face)
{
	for (size_t i = 0; i < c->n_tasks; i++)
		if (streq(c->tasks[i].face, face))
			return &c->tasks[i];
	return NULL;
}

const struct task_handler *conversation_tasks(const struct conversation *c, const char *face)
{
	const struct task_handler *h = find_tasks(c, face);
	return h && h->word ? h : NULL;
}

void conversation_take_tasks(struct conversation *c, const struct task_handler *handler)
{
	const char *face = handler->face ? handler->face : FACE_MCP;
	struct task_handler *h = find_tasks(c, face);
	if (!h) {
		c->tasks = xrealloc(c->tasks, (c->n_tasks + 1) * sizeof(*c->tasks));
		h = &c->tasks[c->n_tasks++];
	}
	*h = *handler;
	h->face = face;
}

void conversation_watch(struct conversation *c, void (*fn)(void *ctx), void *ctx)
{
	struct conversation_watch *w = new0(struct conversation_watch);
	w->fn = fn;
	w->ctx = ctx;
	list_append(&c->watches, &w->node);
}

void conversation_unwatch(struct conversation *c, void (*fn)(void *ctx), void *ctx)
{
	list_for_each(w, &c->watches, struct conversation_watch, node)
		if (w->fn == fn && w->ctx == ctx) {
			list_remove(&w->node);
			free(w);
			return;
		}
}

void conversation_end_client(struct conversation *c, uint64_t client)
{
	AUTO(fail_release) struct fail foreign = { 0 };
	list_for_each(entry, &c->registry->entries, struct session_entry, node)
		if (!*entry->warm &&
		    conversation_check(c, entry->conversation, session_id(entry->session), &foreign) == 0)
			runs_end_client(session_dispatch(entry->session), client);
}

void conversation_each_session(struct conversation *c, void (*fn)(void *ctx, const struct session_info *info),
			       void *ctx)
{
	AUTO(fail_release) struct fail foreign = { 0 };
	list_for_each(entry, &c->registry->entries, struct session_entry, node) {
		const struct session *s = entry->session;
		if (session_state(s) == SESSION_STOPPING || session_is_lost(s) ||
		    conversation_check(c, entry->conversation, session_id(s), &foreign) < 0)
			continue;
		struct session_info info = session_entry_info(entry);
		fn(ctx, &info);
	}
}
