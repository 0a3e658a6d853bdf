/* The feed of pods as the manager's events: a pod that is over has died, one that is gone was destroyed. */
#include "base/alloc.h"
#include "base/strv.h"
#include "manager/engine/kubernetes/kubernetes.h"

struct engine_watch {
	struct feed_listener listener;
	struct watch_handler handler;
	char *store;
	struct strv told; /* uids of pods whose death was reported */
};

/* A pod that is removed without having ended was killed by another program, or with its node. */
static void tell(struct engine_watch *w, const struct pod *pod, enum engine_event_kind kind)
{
	AUTO(fail_release) struct fail why = { 0 };
	struct engine_event event = {
		.kind = kind, .container = pod->name, .id = pod->uid, .exit_code = pod->exit_code
	};
	if (kind == EVENT_DIE) {
		(void)pod_death(pod, &why);
		event.why = &why;
	}
	w->handler.on_event(w->handler.ctx, &event);
}

static void on_pod(void *ctx, const struct pod *pod, bool deleted)
{
	struct engine_watch *w = ctx;
	size_t at = strv_find(&w->told, pod->uid);
	if (!streq(pod->store, w->store))
		return;
	if (pod_is_over(pod) && at == SIZE_MAX) {
		strv_add(&w->told, pod->uid);
		at = w->told.n - 1;
		tell(w, pod, EVENT_DIE);
	}
	if (!deleted)
		return;
	if (at != SIZE_MAX)
		strv_remove(&w->told, at);
	tell(w, pod, EVENT_DESTROY);
}

struct engine_watch *kube_watch(struct engine *e, const char *store, const struct watch_handler *handler,
				struct fail *f UNUSED)
{
	struct engine_watch *w = new0(struct engine_watch);
	w->handler = *handler;
	w->store = xstrdup(store);
	w->listener.on_pod = on_pod;
	w->listener.ctx = w;
	feed_listen(kubernetes_feed(kubernetes_of(e)), &w->listener);
	return w;
}

struct engine_watch *kube_unwatch(struct engine_watch *w)
{
	if (!w)
		return NULL;
	feed_ignore(&w->listener);
	strv_release(&w->told);
	free(w->store);
	free(w);
	return NULL;
}
