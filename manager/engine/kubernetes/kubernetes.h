/* Kubernetes as an engine, through kubectl: shared by the files of this adapter. Private to manager/engine. */
#ifndef HUSK_MANAGER_ENGINE_KUBERNETES_KUBERNETES_H
#define HUSK_MANAGER_ENGINE_KUBERNETES_KUBERNETES_H

#include "manager/engine/kubernetes/api-call.h"
#include "manager/engine/kubernetes/exec.h"
#include "manager/engine/kubernetes/feed.h"
#include "manager/engine/kubernetes/registry.h"

extern const struct engine_driver kubernetes_driver;

struct kubernetes {
	struct engine engine;
	struct loop *loop;
	char *program, *helper, *context, *namespace;
	char *registry; /* where images are; NULL = the nodes have them */
	char *folder;	/* for files that are being sent to the registry */
	struct registry *images;
	struct list bakes;
	struct proxy *proxy;
	struct feed *feed; /* NULL until a pod's state is needed */
	struct list tasks;
	struct list opened; /* streams that creates have opened and that nobody attached to yet */
	struct reach *reach;
};

static inline struct kubernetes *kubernetes_of(struct engine *e)
{
	return container_of(e, struct kubernetes, engine);
}

/* The feed of pods; starts it. */
struct feed *kubernetes_feed(struct kubernetes *k);
/* The full reference of an image. The caller owns it. */
char *kubernetes_image(const struct kubernetes *k, const char *name);
/* "/api/v1/namespaces/N/pods" and, if pod is not NULL, "/POD". The caller owns it. */
char *kubernetes_target(const struct kubernetes *k, const char *pod);

/* --- pods (task.c) --------------------------------------------------------------------------------------------------- */
struct engine_task *kube_pods_create(struct engine *e, const struct container_spec *spec, engine_created_fn done,
				     void *ctx);
struct engine_task *kube_pods_remove(struct engine *e, const struct container_ref *ref, engine_done_fn done, void *ctx);
struct engine_task *kube_pods_remove_ended(struct engine *e, const char *pod, engine_done_fn done, void *ctx);
struct engine_task *kube_pods_prune(struct engine *e, uint64_t min_age, engine_done_fn done, void *ctx);
void kube_pods_cancel(struct engine_task *t);
void kube_pods_remove_and_forget(struct engine *e, char *const *containers, size_t n);
void kube_pods_release(struct kubernetes *k);

/* --- attach (stream.c) ----------------------------------------------------------------------------------------------- */
struct engine_stream *kube_streams_attach(struct engine *e, const char *pod, const struct stream_handler *handler,
					  struct fail *f);
int kube_streams_write(struct engine_stream *s, const void *data, size_t n);
void kube_streams_pause(struct engine_stream *s, bool paused);
struct engine_stream *kube_streams_free(struct engine_stream *s);
void kube_streams_explain(struct engine *e, const void *data, size_t n, struct fail *f);
/* Keeps an open stream for the attach that follows. Takes ownership. */
void kube_streams_keep(struct kubernetes *k, const char *pod, struct exec *x);
void kube_streams_release(struct kubernetes *k);

/* --- events (watch.c) ------------------------------------------------------------------------------------------------ */
struct engine_watch *kube_watch(struct engine *e, const char *store, const struct watch_handler *handler,
				struct fail *f);
struct engine_watch *kube_unwatch(struct engine_watch *w);

/* --- images with packages (bake.c) ----------------------------------------------------------------------------------- */
struct engine_bake *kube_bake(struct engine *e, const struct bake_spec *spec, engine_done_fn done, void *ctx);
void kube_bake_cancel(struct engine_bake *b);
struct engine_bake *kube_remove_image(struct engine *e, const char *image, engine_done_fn done, void *ctx);
void kube_bakes_release(struct kubernetes *k);

/* --- queries (query.c) ----------------------------------------------------------------------------------------------- */
struct engine_query *kube_query(struct engine *e, const struct query_spec *spec, struct fail *f);
struct engine_query *kube_query_free(struct engine_query *q);

/* --- what a pod can reach (reach.c) ---------------------------------------------------------------------------------- */
/* Tries whether a pod can reach anything that its session may not reach, because a policy of the cluster is only as
 * good as the plugin that enforces it. Each kind of network is tried once, in a pod of its own. */
struct reach;

enum reach_verdict {
	REACH_UNKNOWN,	 /* f says why */
	REACH_NOTHING,	 /* nothing was reached */
	REACH_SOMETHING, /* something was reached; f says what */
};

struct reach_wait {
	struct list node;
	/* Called once from the loop. */
	void (*fn)(void *ctx, enum reach_verdict verdict, const struct fail *f);
	void *ctx;
};

struct reach *reach_new(struct kubernetes *k);
/* Calls wait->fn with the verdict about the network that the spec asks for. The first call starts a pod with its image,
 * runtime and labels; later ones share its verdict, unless that is unknown. */
void reach_get(struct reach *t, const struct container_spec *spec, struct reach_wait *wait);
/* Ends the wait without a call. For an initialized node; idempotent. */
void reach_forget(struct reach_wait *wait);
/* The verdict so far, without trying. */
enum reach_verdict reach_known(const struct reach *t, bool network);
/* Accepts NULL, returns NULL. */
struct reach *reach_free(struct reach *t);

#endif
