/* Proves of a new session that it holds, before anybody uses it: husk-probe runs in it, once for each image, version of the engine and
 * boot of its machine. The receipt is in the store. */
#ifndef HUSK_MANAGER_REGISTRY_PROOF_H
#define HUSK_MANAGER_REGISTRY_PROOF_H

#include "manager/registry/registry.h"

struct proof;

/* fn follows, from the loop, once: f NULL if it holds. The member must be ready, and outlive the proof. */
struct proof *proof_start(struct member *m, void (*fn)(void *ctx, const struct fail *f), void *ctx);
/* Accepts NULL. */
void proof_cancel(struct proof *p);

#endif
