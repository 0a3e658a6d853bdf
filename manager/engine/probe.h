/* One question to the docker CLI: a child with a deadline and a bounded answer. */
#ifndef HUSK_MANAGER_ENGINE_PROBE_H
#define HUSK_MANAGER_ENGINE_PROBE_H

#include "manager/engine/engine.h"

/* As engine_ops.probe says. */
struct engine_probe *probe_start(struct loop *loop, const char *docker, const struct probe_spec *spec, struct fail *f);
struct engine_probe *probe_free(struct engine_probe *p);

#endif
