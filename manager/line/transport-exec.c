/* Carries bytes over `husk-client attach`, which the engine runs in the container. */
#include "base/alloc.h"
#include "manager/line/transport.h"

struct exec {
	struct transport transport;
	struct engine *engine;
	char *container;
	struct engine_stream *stream;
	struct transport_handler handler;
};

static struct exec *exec_of(struct transport *t)
{
	return container_of(t, struct exec, transport);
}

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct exec *x = ctx;
	x->handler.on_bytes(x->handler.ctx, data, n);
}

static void exec_close(struct transport *t)
{
	struct exec *x = exec_of(t);
	x->stream = x->engine->ops->stream_free(x->stream);
}

static void on_closed(void *ctx, const struct fail *f)
{
	struct exec *x = ctx;
	exec_close(&x->transport);
	x->handler.on_closed(x->handler.ctx, f);
}

static int exec_open(struct transport *t, const struct transport_handler *handler, struct fail *f)
{
	struct exec *x = exec_of(t);
	struct stream_handler stream = { .on_bytes = on_bytes, .on_closed = on_closed, .ctx = x };
	exec_close(t);
	x->handler = *handler;
	x->stream = x->engine->ops->attach(x->engine, x->container, &stream, f);
	return x->stream ? 0 : -1;
}

static void exec_write(struct transport *t, const void *data, size_t n)
{
	struct exec *x = exec_of(t);
	if (x->stream)
		(void)x->engine->ops->stream_write(x->stream, data, n);
}

static void exec_pause(struct transport *t, bool paused)
{
	struct exec *x = exec_of(t);
	if (x->stream && x->engine->ops->stream_pause)
		x->engine->ops->stream_pause(x->stream, paused);
}

static void exec_explain(struct transport *t, const char *text, size_t n, struct fail *f)
{
	struct exec *x = exec_of(t);
	x->engine->ops->explain(x->engine, text, n, f);
}

static const char *exec_name(const struct transport *t UNUSED)
{
	return "exec";
}

static struct transport *exec_free(struct transport *t)
{
	struct exec *x = exec_of(t);
	exec_close(t);
	free(x->container);
	free(x);
	return NULL;
}

struct transport *transport_exec_new(struct engine *engine, const char *container)
{
	static const struct transport_ops ops = {
		.name = exec_name,
		.open = exec_open,
		.write = exec_write,
		.pause = exec_pause,
		.close = exec_close,
		.explain = exec_explain,
		.free = exec_free,
	};
	struct exec *x = new0(struct exec);
	x->transport.ops = &ops;
	x->engine = engine;
	x->container = xstrdup(container);
	return &x->transport;
}
