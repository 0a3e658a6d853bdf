/* The warm pool: containers that are up before anybody asks for a session, so that a create costs a claim. They are members that are
 * nobody's, with a row of their own in the store.
 *
 * Filled one at a time in quiet moments; never above CONTAINER_MAX_SESSIONS, not while memory is short, and not before somebody is
 * there. They make way for sessions, go when they are no longer worth keeping, and end with the manager. */
#ifndef HUSK_MANAGER_REGISTRY_WARM_H
#define HUSK_MANAGER_REGISTRY_WARM_H

#include "manager/registry/member.h"

/* Starts nothing. */
struct warm *warm_new(struct registry *r);
/* Accepts NULL, returns NULL. */
struct warm *warm_free(struct warm *w);

/* True if some are wanted as soon as somebody is there. */
bool warm_is_eager(const struct warm *w);
/* Somebody is there, and what an owner needs on disk is too. */
void warm_wake(struct warm *w);
/* Somebody got a session of this kind. */
void warm_used(struct warm *w, const struct member_spec *spec, bool was_warm);
/* One that fits, reserved for the caller; NULL if there is none. */
struct member *warm_take(struct warm *w, const struct member_spec *spec);
/* It is not needed after all. */
void warm_give_back(struct member *m);
/* What had to make way in the store, of whatever server. */
void warm_evict(struct warm *w, const struct session_list *rows);
/* The manager is about to end: none is made any more, and the store forgets those that there are. */
void warm_leave(struct warm *w);

#endif
