/* The vtable of the docker engine, and functions that have no file of their own. */
#include "manager/engine/docker/docker.h"

#include <jansson.h>

#include "base/alloc.h"
#include "manager/engine/docker/reap.h"

/* The docker client passes the proxies in its config.json on to every container, whichever engine it uses. */
static json_t *load_config(void)
{
	const char *folder = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
	AUTO(freep) char *path = folder && *folder ? xasprintf("%s/config.json", folder) :
						     xasprintf("%s/.docker/config.json", home ? home : "");
	return json_load_file(path, 0, NULL);
}

void docker_proxies(struct engine *e UNUSED, struct strv *ret)
{
	static const char *const names[] = { "httpProxy", "httpsProxy", "ftpProxy", "allProxy" };
	json_auto_t *config = load_config();
	const char *engine;
	json_t *entry;
	json_object_foreach(json_object_get(config, "proxies"), engine, entry) {
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			const char *url = json_string_value(json_object_get(entry, names[i]));
			if (url && *url)
				strv_add(ret, url);
		}
	}
}

static struct engine_bake *docker_bake(struct engine *e, const struct bake_spec *spec, engine_done_fn done, void *ctx)
{
	return bake_start(&docker_of(e)->bakery, spec, done, ctx);
}

static struct engine_bake *docker_remove_image(struct engine *e, const char *image, engine_done_fn done, void *ctx)
{
	return bake_remove_image(&docker_of(e)->bakery, image, done, ctx);
}

static struct engine_capabilities docker_capabilities(const struct engine *e)
{
	const struct docker *d = container_of(e, const struct docker, engine);
	return (struct engine_capabilities){
		.bakes_images = !d->is_podman,
		.feeds_events = true,
		.sets_fence = true,
		.cuts_network = true,
		.measures_memory = true,
		.reports_machine = true,
		.lists_images = true,
		.shares_kernel = d->shares_kernel,
		.outside_fence = d->old_network,
	};
}

static struct engine *docker_free(struct engine *e)
{
	struct docker *d = docker_of(e);
	tasks_release(d);
	bakery_release(&d->bakery);
	strv_release(&d->env);
	free(d->program);
	free(d->helper);
	free(d->socket);
	free(d);
	return NULL;
}

/* Both engines have the same client. */
#define OPS(engine_name)                                                                                               \
	{                                                                                                              \
		.name = engine_name, .create = task_create, .remove = task_remove, .remove_ended = task_remove_ended,  \
		.prune = task_prune, .remove_and_forget = tasks_remove_and_forget, .bake = docker_bake,                \
		.bake_cancel = bake_cancel, .remove_image = docker_remove_image, .attach = docker_attach,              \
		.watch = docker_watch, .query = docker_query, .query_free = docker_query_free,                         \
		.foresee = task_foresee, .proxies = docker_proxies, .explain = docker_explain,                         \
		.task_cancel = task_cancel, .stream_write = docker_write, .stream_pause = docker_pause,                \
		.stream_free = docker_detach, .watch_free = docker_unwatch, .capabilities = docker_capabilities,       \
		.free = docker_free,                                                                                   \
	}

static const struct engine_ops docker_ops = OPS("docker");
static const struct engine_ops podman_ops = OPS("podman");

static struct engine *open_with(const struct engine_ops *ops, const struct engine_options *options)
{
	struct docker *d = new0(struct docker);
	d->engine.ops = ops;
	d->loop = options->loop;
	d->program = xstrdup(options->program);
	d->helper = xstrdup(options->helper ? options->helper : "/proc/self/exe");
	list_init(&d->tasks);
	for (char **v = environ; options->env && *v; v++)
		strv_add(&d->env, *v);
	for (size_t i = 0; options->env && i < options->env->n; i++)
		strv_set_env(&d->env, options->env->v[i]);
	d->bakery = (struct bakery){ .loop = d->loop, .program = d->program, .env = docker_env(d) };
	list_init(&d->bakery.bakes);
	return &d->engine;
}

static struct engine *docker_open(const struct engine_options *options, struct fail *f UNUSED)
{
	return open_with(&docker_ops, options);
}

/* --- Podman -------------------------------------------------------------------------------------------------------- */

static const char *variable(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* Where `podman system service` listens, unless the environment names another endpoint. */
static char *podman_host(void)
{
	const char *host = variable("CONTAINER_HOST"), *runtime = variable("XDG_RUNTIME_DIR");
	if (host)
		return xstrdup(host);
	return geteuid() == 0 || !runtime ? xstrdup("unix:///run/podman/podman.sock") :
					    xasprintf("unix://%s/podman/podman.sock", runtime);
}

static struct engine *podman_open(const struct engine_options *options, struct fail *f UNUSED)
{
	AUTO(strv_release) struct strv env = { 0 };
	AUTO(freep) char *host = podman_host();
	struct engine_options own = *options;
	for (size_t i = 0; options->env && i < options->env->n; i++)
		strv_add(&env, options->env->v[i]);
	if (!env.n && !variable("DOCKER_HOST") && !variable("DOCKER_CONTEXT")) {
		strv_addf(&env, "DOCKER_HOST=%s", host);
		own.env = &env;
	}
	struct engine *e = open_with(&podman_ops, &own);
	struct docker *d = docker_of(e);
	d->is_podman = true;
	/* A container without a network cannot get one later. */
	d->joins_at_once = true;
	/* It ignores the options of unnamed volumes, so the volume for terminals would be a plain folder. */
	d->refuses_terminals = true;
	return e;
}

const struct engine_driver podman_driver = { .name = "podman", .open = podman_open, .reap = reap_containers };
const struct engine_driver docker_driver = { .name = "docker", .open = docker_open, .reap = reap_containers };
