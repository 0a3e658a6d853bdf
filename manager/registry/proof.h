/* Proves that a new session is isolated before it is used. husk-probe runs in it once for each image, engine
 * version and boot of the engine's machine. The receipt is kept in the store. */
#ifndef HUSK_MANAGER_REGISTRY_PROOF_H
#define HUSK_MANAGER_REGISTRY_PROOF_H

#include "manager/registry/registry.h"

struct proof;

/* fn is called once, from the loop; f is NULL if the session is isolated. The member must be ready and outlive the
 * proof. */
struct proof *proof_start(struct member *m, void (*fn)(void *ctx, const struct fail *f), void *ctx);
/* Accepts NULL. */
void proof_cancel(struct proof *p);

#endif
