/* `docker events`, line by line. */
#include "base/alloc.h"
#include "base/log.h"
#include "manager/engine/docker/argv.h"
#include "manager/engine/docker/client.h"
#include "manager/engine/docker/docker.h"
#include "manager/engine/docker/inspect.h"

#define EVENT_LINE_MAX 65536u

struct engine_watch {
	struct child *child;
	struct watch_handler handler;
	struct buf line;
	bool skipping; /* an over-long line, up to its end */
};

static void watch_line(struct engine_watch *w)
{
	struct event_text storage;
	struct engine_event event;
	if (!w->skipping && inspect_event((const char *)w->line.data, w->line.len, &storage, &event))
		w->handler.on_event(w->handler.ctx, &event);
	w->skipping = false;
	buf_reset(&w->line);
}

static void watch_bytes(void *ctx, const void *data, size_t n)
{
	struct engine_watch *w = ctx;
	const char *p = data, *end = p + n;
	while (p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t take = (size_t)((newline ? newline : end) - p);
		if (buf_add(&w->line, p, take) < 0)
			w->skipping = true;
		p += take;
		if (!newline)
			break;
		p++;
		watch_line(w);
	}
}

static void watch_ended(void *ctx, const struct child_result *r)
{
	struct engine_watch *w = ctx;
	log_debug("docker events ended: %.200s", r->err);
	w->handler.on_closed(w->handler.ctx);
}

struct engine_watch *docker_watch(struct engine *e, const char *store, const struct watch_handler *handler,
				  struct fail *f)
{
	struct docker *d = docker_of(e);
	AUTO(strv_release) struct strv argv = { 0 };
	argv_watch(&argv, d->program, store);
	struct engine_watch *w = new0(struct engine_watch);
	w->handler = *handler;
	w->line.max = EVENT_LINE_MAX;
	struct child_spec spec = {
		.argv = strv_argv(&argv),
		.on_stdout = watch_bytes,
		.on_done = watch_ended,
		.ctx = w,
	};
	if (client_start(d->loop, &spec, &w->child, f) < 0) {
		free(w);
		return NULL;
	}
	return w;
}

struct engine_watch *docker_unwatch(struct engine_watch *w)
{
	if (!w)
		return NULL;
	child_free(w->child);
	buf_release(&w->line);
	free(w);
	return NULL;
}
