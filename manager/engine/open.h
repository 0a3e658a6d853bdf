/* The kinds of engines, by name. */
#ifndef HUSK_MANAGER_ENGINE_OPEN_H
#define HUSK_MANAGER_ENGINE_OPEN_H

#include "manager/engine/engine.h"

/* The name "docker" or NULL runs the docker client, which handles DOCKER_HOST and contexts itself; "kubernetes" runs
 * kubectl. Returns NULL with
 * f if the name is unknown. Does not contact the engine. */
struct engine *engine_open(const char *name, const struct engine_options *options, struct fail *f);
/* Adds a kind of engine, for tests; NULL removes it. The driver must outlive its engines. */
void engine_register(const struct engine_driver *driver);

/* Removes these containers, including those whose create is still under way. Runs in a separate process that an
 * exiting server leaves behind, since it blocks for some seconds. Returns an exit status. */
int engine_reap(const char *name, const char *program, char *const *names);

#endif
