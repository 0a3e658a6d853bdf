#include "manager/engine/open.h"

#include "manager/engine/docker/docker.h"
#include "manager/engine/kubernetes/kubernetes.h"

static const struct engine_driver *registered;

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
