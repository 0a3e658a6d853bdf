/* Streams to containers, and the events of all hosts. */
#include "base/alloc.h"
#include "manager/engine/pool/pool.h"

/* How often hosts are checked while somebody watches. */
#define CHECK_MS 5000

struct engine_stream {
	struct host *host;
	struct engine_stream *inner;
	struct stream_handler handler;
};

/* --- streams ------------------------------------------------------------------------------------------------------- */

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct engine_stream *s = ctx;
	s->handler.on_bytes(s->handler.ctx, data, n);
}

static void on_closed(void *ctx, const struct fail *f)
{
	struct engine_stream *s = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	fail_copy(&why, f);
	pool_name_host(s->host, &why);
	host_failed(s->host, f);
	s->handler.on_closed(s->handler.ctx, &why);
}

struct engine_stream *pool_attach(struct engine *e, const char *container, const struct stream_handler *handler,
				  struct fail *f)
{
	struct host *h = pool_find(pool_of(e), container, f);
	if (!h)
		return NULL;
	struct engine_stream *s = new0(struct engine_stream);
	struct stream_handler own = { .on_bytes = on_bytes, .on_closed = on_closed, .ctx = s };
	s->host = h;
	s->handler = *handler;
	s->inner = h->engine->ops->attach(h->engine, container, &own, f);
	if (s->inner)
		return s;
	pool_name_host(h, f);
	free(s);
	return NULL;
}

int pool_write(struct engine_stream *s, const void *data, size_t n)
{
	return s->host->engine->ops->stream_write(s->inner, data, n);
}

void pool_pause(struct engine_stream *s, bool paused)
{
	const struct engine_ops *ops = s->host->engine->ops;
	if (ops->stream_pause)
		ops->stream_pause(s->inner, paused);
}

struct engine_stream *pool_detach(struct engine_stream *s)
{
	if (!s)
		return NULL;
	s->host->engine->ops->stream_free(s->inner);
	free(s);
	return NULL;
}

/* All hosts have the same kind of client. */
void pool_explain(struct engine *e, const void *data, size_t n, struct fail *f)
{
	struct engine *first = pool_of(e)->hosts[0].engine;
	first->ops->explain(first, data, n, f);
}

/* --- events -------------------------------------------------------------------------------------------------------- */

struct host_watch {
	struct engine_watch *watch; /* of the pool */
	struct host *host;
	struct engine_watch *inner; /* NULL = the host is not watched now */
	struct timer *close;	    /* a watch is not freed in its own callback */
};

struct engine_watch {
	struct list node;
	struct pool *pool;
	char *store;
	struct watch_handler handler;
	struct host_watch *hosts;
};

static void on_event(void *ctx, const struct engine_event *event)
{
	const struct host_watch *w = ctx;
	w->watch->handler.on_event(w->watch->handler.ctx, event);
}

static void close_host(void *ctx)
{
	struct host_watch *w = ctx;
	w->inner = w->host->engine->ops->watch_free(w->inner);
}

/* The next check decides whether the host answers. */
static void on_watch_closed(void *ctx)
{
	struct host_watch *w = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_ENGINE, CAUSE_NO_ENGINE, "its events have ended");
	timer_start(w->close, 0, 0);
	host_failed(w->host, &f);
}

static void watch_host(struct host_watch *w)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct watch_handler own = { .on_event = on_event, .on_closed = on_watch_closed, .ctx = w };
	timer_stop(w->close);
	w->inner = w->host->engine->ops->watch_free(w->inner);
	w->inner = w->host->engine->ops->watch(w->host->engine, w->watch->store, &own, &f);
}

void pool_watch_host(struct host *h)
{
	size_t at = (size_t)(h - h->pool->hosts);
	list_for_each(w, &h->pool->watches, struct engine_watch, node)
		watch_host(&w->hosts[at]);
}

struct engine_watch *pool_watch(struct engine *e, const char *store, const struct watch_handler *handler,
				struct fail *f UNUSED)
{
	struct pool *p = pool_of(e);
	struct engine_watch *w = new0(struct engine_watch);
	w->pool = p;
	w->store = xstrdup(store);
	w->handler = *handler;
	w->hosts = xcalloc(p->n, sizeof(*w->hosts));
	list_append(&p->watches, &w->node);
	for (size_t i = 0; i < p->n; i++) {
		w->hosts[i] = (struct host_watch){ .watch = w, .host = &p->hosts[i] };
		w->hosts[i].close = timer_new(p->loop, close_host, &w->hosts[i]);
		if (p->hosts[i].state != HOST_DOWN)
			watch_host(&w->hosts[i]);
	}
	timer_start(p->timer, CHECK_MS, CHECK_MS);
	return w;
}

struct engine_watch *pool_unwatch(struct engine_watch *w)
{
	if (!w)
		return NULL;
	list_remove(&w->node);
	for (size_t i = 0; i < w->pool->n; i++) {
		close_host(&w->hosts[i]);
		timer_free(w->hosts[i].close);
	}
	if (list_empty(&w->pool->watches))
		timer_stop(w->pool->timer);
	free(w->hosts);
	free(w->store);
	free(w);
	return NULL;
}
