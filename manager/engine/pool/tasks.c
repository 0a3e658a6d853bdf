/* Containers: each call goes to the engine of the container's host. */
#include "base/alloc.h"
#include "manager/engine/pool/pool.h"

struct engine_task {
	struct list node;
	struct host *host;
	struct engine_task *inner; /* NULL = the call has not begun, or has ended */
	engine_done_fn done;	   /* may be NULL */
	engine_created_fn created; /* instead of done, for a create */
	void *ctx;
	/* A prune, which goes to each host in turn. */
	bool prunes;
	size_t next;
	uint64_t min_age;
	/* A call that cannot begin is answered from the loop. */
	struct timer *refusal;
	struct fail failure;
};

static void task_free(struct engine_task *t)
{
	list_remove(&t->node);
	timer_free(t->refusal);
	fail_release(&t->failure);
	free(t);
}

static void finish(struct engine_task *t, const struct engine_created *created)
{
	const struct fail *f = t->failure.kind ? &t->failure : NULL;
	list_remove(&t->node);
	if (t->created)
		t->created(t->ctx, created, f);
	else if (t->done)
		t->done(t->ctx, f);
	task_free(t);
}

static void note_failure(struct engine_task *t, const struct fail *f)
{
	if (!f)
		return;
	fail_copy(&t->failure, f);
	pool_name_host(t->host, &t->failure);
	host_failed(t->host, f);
}

static void on_done(void *ctx, const struct fail *f)
{
	struct engine_task *t = ctx;
	t->inner = NULL;
	note_failure(t, f);
	finish(t, NULL);
}

static void on_created(void *ctx, const struct engine_created *created, const struct fail *f)
{
	struct engine_task *t = ctx;
	t->inner = NULL;
	note_failure(t, f);
	finish(t, created);
}

static void on_refused(void *ctx)
{
	finish(ctx, NULL);
}

static struct engine_task *task_new(struct pool *p, const char *container, engine_done_fn done, void *ctx)
{
	struct engine_task *t = new0(struct engine_task);
	t->done = done;
	t->ctx = ctx;
	list_append(&p->tasks, &t->node);
	if (!container)
		return t;
	t->host = pool_find(p, container, &t->failure);
	if (t->host)
		return t;
	t->refusal = timer_new(p->loop, on_refused, t);
	timer_start(t->refusal, 0, 0);
	return t;
}

struct engine_task *pool_create(struct engine *e, const struct container_spec *spec, engine_created_fn done, void *ctx)
{
	struct engine_task *t = task_new(pool_of(e), spec->name, NULL, ctx);
	t->created = done;
	if (t->host)
		t->inner = t->host->engine->ops->create(t->host->engine, spec, on_created, t);
	return t;
}

struct engine_task *pool_remove(struct engine *e, const struct container_ref *container, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(pool_of(e), container->name, done, ctx);
	if (t->host)
		t->inner = t->host->engine->ops->remove(t->host->engine, container, on_done, t);
	return t;
}

struct engine_task *pool_remove_ended(struct engine *e, const char *container, engine_done_fn done, void *ctx)
{
	struct engine_task *t = task_new(pool_of(e), container, done, ctx);
	if (t->host)
		t->inner = t->host->engine->ops->remove_ended(t->host->engine, container, on_done, t);
	return t;
}

/* --- prune --------------------------------------------------------------------------------------------------------- */

static void prune_next(struct engine_task *t, struct pool *p);

static void on_pruned(void *ctx, const struct fail *f)
{
	struct engine_task *t = ctx;
	t->inner = NULL;
	note_failure(t, f);
	prune_next(t, t->host->pool);
}

static void prune_next(struct engine_task *t, struct pool *p)
{
	while (t->next < p->n && p->hosts[t->next].state == HOST_DOWN)
		t->next++;
	if (t->next == p->n) {
		finish(t, NULL);
		return;
	}
	t->host = &p->hosts[t->next++];
	t->inner = t->host->engine->ops->prune(t->host->engine, t->min_age, on_pruned, t);
}

static void on_prune(void *ctx)
{
	struct engine_task *t = ctx;
	t->refusal = timer_free(t->refusal);
	prune_next(t, t->host->pool);
}

struct engine_task *pool_prune(struct engine *e, uint64_t min_age, engine_done_fn done, void *ctx)
{
	struct pool *p = pool_of(e);
	struct engine_task *t = task_new(p, NULL, done, ctx);
	t->prunes = true;
	t->min_age = min_age;
	t->host = &p->hosts[0];
	t->refusal = timer_new(p->loop, on_prune, t);
	timer_start(t->refusal, 0, 0);
	return t;
}

/* --- ends ---------------------------------------------------------------------------------------------------------- */

void pool_task_cancel(struct engine_task *t)
{
	if (t->inner)
		t->host->engine->ops->task_cancel(t->inner);
	task_free(t);
}

void pool_tasks_release(struct pool *p)
{
	/* The engines of the hosts drop their own tasks. */
	list_for_each(t, &p->tasks, struct engine_task, node)
		task_free(t);
}

void pool_remove_and_forget(struct engine *e, char *const *containers, size_t n)
{
	struct pool *p = pool_of(e);
	for (size_t i = 0; i < p->n; i++) {
		struct host *h = &p->hosts[i];
		AUTO(strv_release) struct strv own = { 0 };
		AUTO(fail_release) struct fail ignored = { 0 };
		for (size_t k = 0; k < n; k++)
			if (pool_find(p, containers[k], &ignored) == h)
				strv_add(&own, containers[k]);
		/* Also without names: the engine removes what its unfinished tasks have made. */
		h->engine->ops->remove_and_forget(h->engine, own.v, own.n);
	}
}
