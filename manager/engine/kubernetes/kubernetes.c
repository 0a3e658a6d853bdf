/* The vtable of the engine, and functions that have no file of their own. */
#include "manager/engine/kubernetes/kubernetes.h"

#include "base/alloc.h"
#include "manager/engine/kubernetes/reap.h"
#include "manager/model/config.h"

struct feed *kubernetes_feed(struct kubernetes *k)
{
	if (!k->feed)
		k->feed =
			feed_new(&(struct feed_spec){ .loop = k->loop, .proxy = k->proxy, .namespace = k->namespace });
	return k->feed;
}

/* Names with a folder are references already. */
char *kubernetes_image(const struct kubernetes *k, const char *name)
{
	return k->registry && !strchr(name, '/') ? xasprintf("%s/%s", k->registry, name) : xstrdup(name);
}

char *kubernetes_target(const struct kubernetes *k, const char *pod)
{
	return xasprintf("/api/v1/namespaces/%s/pods%s%s", k->namespace, pod ? "/" : "", pod ? pod : "");
}

static struct engine_capabilities capabilities(const struct engine *e)
{
	const struct kubernetes *k = container_of(e, const struct kubernetes, engine);
	return (struct engine_capabilities){
		.bakes_images = k->registry != NULL,
		.feeds_events = true,
		.sets_fence = true,
		.cuts_network = reach_known(k->reach, /* network= */ false) != REACH_SOMETHING,
		.shares_kernel = SUPPORT_NO,
		.several_nodes = true,
	};
}

static struct engine *free_kubernetes(struct engine *e)
{
	struct kubernetes *k = kubernetes_of(e);
	reach_free(k->reach);
	kube_bakes_release(k);
	kube_pods_release(k);
	kube_streams_release(k);
	feed_free(k->feed);
	proxy_free(k->proxy);
	registry_free(k->images);
	free(k->folder);
	free(k->program);
	free(k->helper);
	free(k->context);
	free(k->namespace);
	free(k->registry);
	free(k);
	return NULL;
}

static const struct engine_ops ops = {
	.name = "kubernetes",
	.create = kube_pods_create,
	.remove = kube_pods_remove,
	.remove_ended = kube_pods_remove_ended,
	.prune = kube_pods_prune,
	.remove_and_forget = kube_pods_remove_and_forget,
	.bake = kube_bake,
	.bake_cancel = kube_bake_cancel,
	.remove_image = kube_remove_image,
	.attach = kube_streams_attach,
	.watch = kube_watch,
	.query = kube_query,
	.query_free = kube_query_free,
	.explain = kube_streams_explain,
	.task_cancel = kube_pods_cancel,
	.stream_write = kube_streams_write,
	.stream_pause = kube_streams_pause,
	.stream_free = kube_streams_free,
	.watch_free = kube_unwatch,
	.capabilities = capabilities,
	.free = free_kubernetes,
};

static struct engine *open_kubernetes(const struct engine_options *options, struct fail *f UNUSED)
{
	const struct config *c = options->config;
	struct kubernetes *k = new0(struct kubernetes);
	k->engine.ops = &ops;
	k->engine.dials = SUPPORT_NO;
	k->loop = options->loop;
	k->program = xstrdup(options->program);
	k->helper = options->helper ? xstrdup(options->helper) : NULL;
	k->context = c && c->kubernetes_context ? xstrdup(c->kubernetes_context) : NULL;
	k->namespace = xstrdup(c && c->kubernetes_namespace ? c->kubernetes_namespace : "husk");
	k->registry = c && c->registry ? xstrdup(c->registry) : NULL;
	k->folder = xstrdup(c && c->state_dir ? c->state_dir : "/tmp");
	k->images = registry_new(k->loop, c ? c->ca_bundle : NULL);
	list_init(&k->bakes);
	k->proxy = proxy_new(&(struct proxy_spec){ .loop = k->loop,
						   .program = k->program,
						   .helper = k->helper,
						   .context = k->context,
						   .namespace = k->namespace,
						   .folder = k->folder });
	list_init(&k->tasks);
	list_init(&k->opened);
	k->reach = reach_new(k);
	return &k->engine;
}

const struct engine_driver kubernetes_driver = { .name = "kubernetes", .open = open_kubernetes, .reap = reap_pods };
