/* Background work for a manager's sessions: listens to the engine's events, ends idle sessions, collects garbage
 * and renews leases. It stops with the last session, so a manager without sessions uses no resources. */
#ifndef HUSK_MANAGER_REGISTRY_KEEPER_H
#define HUSK_MANAGER_REGISTRY_KEEPER_H

#include "manager/registry/registry.h"

struct keeper *keeper_new(struct registry *r);
/* Accepts NULL, returns NULL. */
struct keeper *keeper_free(struct keeper *k);
/* Call it when there is a session to look after. */
void keeper_start(struct keeper *k);
/* Call it when a session has ended. A timer then checks what can be dropped. */
void keeper_check_soon(struct keeper *k);
/* Runs a round of gc. ops_swept() follows. */
void keeper_collect(struct keeper *k);
/* Call it when the manager ends. Sessions remain until their lease is over, so that the next server can adopt them.
 * Containers that no server could use are removed. Returns true if any session remains. */
bool keeper_leave(struct keeper *k);

#endif
