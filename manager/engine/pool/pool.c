/* The vtable of the pool. */
#include "manager/engine/pool/pool.h"

#include "base/alloc.h"

struct host *pool_find(struct pool *p, const char *container, struct fail *f)
{
	const char *name = pool_host_of(container);
	for (size_t i = 0; name && i < p->n; i++)
		if (streq(p->hosts[i].name, name))
			return &p->hosts[i];
	if (name)
		cause_set(f, FAIL_ENGINE, CAUSE_NO_ENGINE, "the host '%.40s' is not in CONTAINER_POOL", name);
	else
		cause_set(f, FAIL_ENGINE, CAUSE_NO_CONTAINER, "the container '%.100s' is on no host of the pool",
			  container);
	return NULL;
}

void pool_name_host(const struct host *h, struct fail *f)
{
	fail_wrap(f, "host '%s'", h->name);
}

static struct engine_capabilities capabilities(const struct engine *e)
{
	const struct pool *p = container_of(e, const struct pool, engine);
	struct engine_capabilities can = {
		.feeds_events = true,
		.sets_fence = true,
		.cuts_network = true,
		.measures_memory = true,
		.lists_images = true,
		.shares_kernel = SUPPORT_NO,
		.several_hosts = true,
	};
	for (size_t i = 0; i < p->n; i++) {
		struct engine_capabilities host = engine_capabilities(p->hosts[i].engine);
		can.sets_fence &= host.sets_fence;
		can.cuts_network &= host.cuts_network;
		can.outside_fence |= host.outside_fence;
	}
	return can;
}

static void proxies(struct engine *e, struct strv *ret)
{
	struct engine *first = pool_of(e)->hosts[0].engine;
	if (first->ops->proxies)
		first->ops->proxies(first, ret);
}

static struct engine *pool_free(struct engine *e)
{
	struct pool *p = pool_of(e);
	pool_tasks_release(p);
	timer_free(p->timer);
	hosts_release(p);
	strv_release(&p->openings);
	free((char *)p->fence.image);
	free((char *)p->fence.owner);
	free(p);
	return NULL;
}

static const struct engine_ops ops = {
	.name = "pool",
	.create = pool_create,
	.remove = pool_remove,
	.remove_ended = pool_remove_ended,
	.prune = pool_prune,
	.remove_and_forget = pool_remove_and_forget,
	.attach = pool_attach,
	.watch = pool_watch,
	.query = pool_query,
	.query_free = pool_query_free,
	.proxies = proxies,
	.explain = pool_explain,
	.task_cancel = pool_task_cancel,
	.stream_write = pool_write,
	.stream_pause = pool_pause,
	.stream_free = pool_detach,
	.watch_free = pool_unwatch,
	.capabilities = capabilities,
	.free = pool_free,
};

static void on_timer(void *ctx)
{
	hosts_check(ctx);
}

struct engine *pool_new(struct loop *loop, const struct strv *names, struct engine *const *engines)
{
	struct pool *p = new0(struct pool);
	p->engine.ops = &ops;
	p->engine.dials = SUPPORT_NO;
	p->loop = loop;
	p->n = names->n;
	p->hosts = xcalloc(names->n, sizeof(*p->hosts));
	p->timer = timer_new(loop, on_timer, p);
	list_init(&p->tasks);
	list_init(&p->waits);
	list_init(&p->watches);
	for (size_t i = 0; i < p->n; i++) {
		p->hosts[i].pool = p;
		p->hosts[i].engine = engines[i];
		snprintf(p->hosts[i].name, sizeof(p->hosts[i].name), "%s", names->v[i]);
	}
	return &p->engine;
}
