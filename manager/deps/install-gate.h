/* The gate of an install: if the operator has a list of hosts, an install reaches these and the indexes that the
 * settings name, and nothing else. */
#ifndef HUSK_MANAGER_DEPS_INSTALL_GATE_H
#define HUSK_MANAGER_DEPS_INSTALL_GATE_H

#include "manager/gate/gate.h"
#include "manager/model/config.h"

/* NULL if there is no such list: the container then has a network behind the fence. `env` has the index settings as the
 * installer sees them. Before the claim. */
struct gate *install_gate(struct loop *loop, const struct config *config, const char *container, struct dispatch *d,
			  const struct strv *env);

#endif
