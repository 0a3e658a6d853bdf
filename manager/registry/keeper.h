/* What a manager does for its sessions beside the calls: it listens to the engine, ends the idle, collects what is left over
 * and renews the leases. All of it stops with the last session: a manager that has none costs nothing. */
#ifndef HUSK_MANAGER_REGISTRY_KEEPER_H
#define HUSK_MANAGER_REGISTRY_KEEPER_H

#include "manager/registry/registry.h"

struct keeper *keeper_new(struct registry *r);
/* Accepts NULL, returns NULL. */
struct keeper *keeper_free(struct keeper *k);
/* There is a session to care for. */
void keeper_start(struct keeper *k);
/* Something has ended: drop what is no longer needed, soon. */
void keeper_check_soon(struct keeper *k);
/* A round of gc; ops_swept() follows. */
void keeper_collect(struct keeper *k);
/* The manager ends: sessions are left to their lease, for the next server to adopt; what nobody could use is told to go. True if
 * any stays. */
bool keeper_leave(struct keeper *k);

#endif
