/* The warm pool: containers that are started in advance, so that a create only has to claim one. They are entries
 * without a conversation, each with its own row in the store.
 *
 * The pool starts one container at a time. It waits until the manager has no operation under way, but only for some
 * seconds. It never exceeds CONTAINER_MAX_SESSIONS, and starts no container while memory is short or before a client
 * has connected. Warm containers give up their slots to sessions, are removed when they are no longer needed, and end
 * with the manager. */
#ifndef HUSK_MANAGER_REGISTRY_WARM_H
#define HUSK_MANAGER_REGISTRY_WARM_H

#include "manager/registry/session-entry.h"

/* Does not start any container. */
struct warm *warm_new(struct registry *r);
/* Accepts NULL, returns NULL. */
struct warm *warm_free(struct warm *w);

/* True if containers are wanted as soon as a client has connected. */
bool warm_is_eager(const struct warm *w);
/* Call it when a client has connected and this server's lock exists. */
void warm_wake(struct warm *w);
/* Call it when a session of this kind was created. */
void warm_used(struct warm *w, const struct session_entry_spec *spec, bool was_warm);
/* Reserves a container that fits for the caller; NULL if there is none. */
struct session_entry *warm_take(struct warm *w, const struct session_entry_spec *spec);
/* Returns a reserved container that was not needed. */
void warm_give_back(struct session_entry *entry);
/* Removes containers whose slots went to sessions, no matter which server started them. */
void warm_evict(struct warm *w, const struct session_list *rows);
/* The manager is about to end: starts no more containers, and removes the rows of the existing ones. */
void warm_leave(struct warm *w);

#endif
