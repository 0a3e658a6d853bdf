/* Runs the docker client. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_CLIENT_H
#define HUSK_MANAGER_ENGINE_DOCKER_CLIENT_H

#include "base/child.h"

/* child_start(), with the cause and the hint for a missing client. */
int client_start(struct loop *loop, const struct child_spec *spec, struct child **ret, struct fail *f);

#endif
