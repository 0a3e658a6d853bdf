/* Proves that a new session is isolated before it is used. husk-probe runs in the first session of each image, engine
 * version and boot of the engine's machine. Later sessions rely on its receipt in the store. */
#ifndef HUSK_MANAGER_REGISTRY_PROOF_H
#define HUSK_MANAGER_REGISTRY_PROOF_H

#include "manager/registry/registry.h"

struct proof;

/* fn is called once, from the loop; f is NULL if the session is isolated. The session must be ready and outlive the
 * proof. */
struct proof *proof_start(struct session_entry *entry, void (*fn)(void *ctx, const struct fail *f), void *ctx);
/* Accepts NULL. */
void proof_cancel(struct proof *p);

#endif
