/* The kinds of engine that there are, by name. */
#ifndef HUSK_MANAGER_ENGINE_OPEN_H
#define HUSK_MANAGER_ENGINE_OPEN_H

#include "manager/engine/engine.h"

/* "docker", or NULL for the same: the docker client by exec; DOCKER_HOST and contexts are the client's own business. NULL with
 * f filled for a name that nobody has. Touches nothing. */
struct engine *engine_open(const char *name, const struct engine_options *options, struct fail *f);
/* Adds a kind of engine, for tests; NULL removes it. It must outlive its engines. */
void engine_register(const struct engine_driver *driver);

/* Whatever is left of these containers, and of those of them that are still on their way up, is removed by the time it
 * returns. For a process of its own, which a server that exits leaves behind: blocks for some seconds. Returns an exit status. */
int engine_reap(const char *name, const char *program, char *const *names);

#endif
