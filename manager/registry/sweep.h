/* Removes stale locks from the state folder in a worker job. */
#ifndef HUSK_MANAGER_REGISTRY_SWEEP_H
#define HUSK_MANAGER_REGISTRY_SWEEP_H

#include "base/loop.h"
#include "manager/model/config.h"

/* Fire and forget. */
void sweep_locks(struct loop *loop, const struct config *config);

#endif
