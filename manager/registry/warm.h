/* The warm pool: containers that are started in advance, so that a create only has to claim one. They are members
 * without a conversation, each with its own row in the store.
 *
 * The pool starts one container at a time while the machine is idle. It never exceeds CONTAINER_MAX_SESSIONS, and
 * starts none while memory is short or before a client has connected. Warm containers give up their slots to
 * sessions, are removed when they are no longer needed, and end with the manager. */
#ifndef HUSK_MANAGER_REGISTRY_WARM_H
#define HUSK_MANAGER_REGISTRY_WARM_H

#include "manager/registry/member.h"

/* Does not start any container. */
struct warm *warm_new(struct registry *r);
/* Accepts NULL, returns NULL. */
struct warm *warm_free(struct warm *w);

/* True if containers are wanted as soon as a client has connected. */
bool warm_is_eager(const struct warm *w);
/* A client has connected, and the owner's files exist. */
void warm_wake(struct warm *w);
/* A session of this kind was created. */
void warm_used(struct warm *w, const struct member_spec *spec, bool was_warm);
/* A container that fits, reserved for the caller; NULL if there is none. */
struct member *warm_take(struct warm *w, const struct member_spec *spec);
/* Returns a reserved container that was not needed. */
void warm_give_back(struct member *m);
/* Removes containers whose slots went to sessions, no matter which server started them. */
void warm_evict(struct warm *w, const struct session_list *rows);
/* The manager is about to end: starts no more containers, and removes the rows of the existing ones. */
void warm_leave(struct warm *w);

#endif
