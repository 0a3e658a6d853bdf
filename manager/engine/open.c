#include "manager/engine/open.h"

#include "manager/engine/docker/docker.h"
#include "manager/engine/kubernetes/kubernetes.h"
#include "manager/engine/pool/pool.h"
#include "manager/model/config.h"

static const struct engine_driver *registered;

/* Where a host's docker client finds its engine. An empty variable counts as unset. */
static void add_endpoint(struct strv *env, const char *endpoint)
{
	static const char context[] = "context:";
	bool by_context = strncmp(endpoint, context, strlen(context)) == 0;
	strv_addf(env, "DOCKER_CONTEXT=%s", by_context ? endpoint + strlen(context) : "");
	strv_addf(env, "DOCKER_HOST=%s", by_context ? "" : endpoint);
	strv_addf(env, "DOCKER_TLS_VERIFY=%s", strncmp(endpoint, "tcp://", 6) == 0 ? "1" : "");
}

static struct engine *open_pool(const struct engine_options *options, struct fail *f)
{
	AUTO(pool_hosts_release) struct pool_hosts hosts = { 0 };
	struct engine *engines[POOL_HOSTS_MAX];
	/* The settings were checked, except by a doctor that reports what is wrong with them. */
	if (pool_hosts_parse(options->config && options->config->pool ? options->config->pool : "", &hosts, f) < 0)
		return docker_driver.open(options, f);
	for (size_t i = 0; i < hosts.names.n; i++) {
		AUTO(strv_release) struct strv env = { 0 };
		struct engine_options own = *options;
		add_endpoint(&env, hosts.endpoints.v[i]);
		own.env = &env;
		engines[i] = docker_driver.open(&own, f);
	}
	return pool_new(options->loop, &hosts.names, engines);
}

static const struct engine_driver pool_driver = { .name = "pool", .open = open_pool };

void engine_register(const struct engine_driver *driver)
{
	registered = driver;
}

static const struct engine_driver *find(const char *name)
{
	if (!name || streq(name, docker_driver.name))
		return &docker_driver;
	if (streq(name, kubernetes_driver.name))
		return &kubernetes_driver;
	if (streq(name, podman_driver.name))
		return &podman_driver;
	if (streq(name, pool_driver.name))
		return &pool_driver;
	return registered && streq(name, registered->name) ? registered : NULL;
}

struct engine *engine_open(const char *name, const struct engine_options *options, struct fail *f)
{
	const struct engine_driver *driver = find(name);
	if (driver)
		return driver->open(options, f);
	cause_set(f, FAIL_INVALID, CAUSE_NO_ENGINE, "there is no engine called '%s'", name);
	return NULL;
}

int engine_reap(const char *name, const char *program, char *const *names)
{
	const struct engine_driver *driver = find(name);
	return driver && driver->reap ? driver->reap(program, names) : 1;
}
