/* Streams to PID 1, for the manager: one that a create has opened, or a new one. */
#include "base/alloc.h"
#include "manager/engine/kubernetes/kubernetes.h"

struct engine_stream {
	struct kubernetes *k;
	char *pod;
	struct exec *exec;
	struct stream_handler handler;
};

/* A stream that waits for its attach. */
struct opened {
	struct list node;
	char *pod;
	struct exec *exec;
};

static void opened_free(struct opened *o)
{
	list_remove(&o->node);
	exec_free(o->exec);
	free(o->pod);
	free(o);
}

static void on_closed(void *ctx, const struct fail *f UNUSED)
{
	opened_free(ctx);
}

void kube_streams_keep(struct kubernetes *k, const char *pod, struct exec *x)
{
	struct opened *o = new0(struct opened);
	o->pod = xstrdup(pod);
	o->exec = x;
	list_append(&k->opened, &o->node);
	exec_set_handler(x, &(struct stream_handler){ .on_closed = on_closed, .ctx = o });
}

static struct exec *take(struct kubernetes *k, const char *pod)
{
	list_for_each(o, &k->opened, struct opened, node) {
		if (!streq(o->pod, pod))
			continue;
		struct exec *x = take_ptr(o->exec);
		opened_free(o);
		return x;
	}
	return NULL;
}

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct engine_stream *s = ctx;
	s->handler.on_bytes(s->handler.ctx, data, n);
}

/* If the session is given up, the node is what the operator looks for. */
static void on_ended(void *ctx, const struct fail *f)
{
	struct engine_stream *s = ctx;
	const struct pod *pod = s->k->feed ? feed_find(s->k->feed, s->pod) : NULL;
	AUTO(fail_release) struct fail why = { 0 };
	fail_copy(&why, f);
	if (pod && *pod->node) {
		AUTO(freep) char *message = xasprintf("%s (node '%s')", f->message, pod->node);
		free(why.message);
		why.message = take_ptr(message);
	}
	s->handler.on_closed(s->handler.ctx, &why);
}

struct engine_stream *kube_streams_attach(struct engine *e, const char *pod, const struct stream_handler *handler,
					  struct fail *f UNUSED)
{
	struct kubernetes *k = kubernetes_of(e);
	struct engine_stream *s = new0(struct engine_stream);
	struct stream_handler own = { on_bytes, on_ended, s };
	s->k = k;
	s->pod = xstrdup(pod);
	s->handler = *handler;
	s->exec = take(k, pod);
	if (s->exec)
		exec_set_handler(s->exec, &own);
	else
		s->exec = exec_new(&(struct exec_spec){
			.loop = k->loop, .proxy = k->proxy, .namespace = k->namespace, .pod = pod, .handler = own });
	return s;
}

int kube_streams_write(struct engine_stream *s, const void *data, size_t n)
{
	return exec_write(s->exec, data, n);
}

void kube_streams_pause(struct engine_stream *s, bool paused)
{
	exec_pause(s->exec, paused);
}

struct engine_stream *kube_streams_free(struct engine_stream *s)
{
	if (!s)
		return NULL;
	exec_free(s->exec);
	free(s->pod);
	free(s);
	return NULL;
}

/* Nothing but PID 1 writes to the channel that the frames come on. */
void kube_streams_explain(struct engine *e UNUSED, const void *data UNUSED, size_t n UNUSED, struct fail *f)
{
	cause_set(f, FAIL_DIED, CAUSE_PROTOCOL, "the container broke Husk's protocol and was removed");
}

void kube_streams_release(struct kubernetes *k)
{
	list_for_each(o, &k->opened, struct opened, node)
		opened_free(o);
}
