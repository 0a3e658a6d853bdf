/* The sessions of all servers of this user, for people: `husk ps`, `husk stop` and `husk gc` need no server. One thing at a time;
 * callbacks come once, from the loop. */
#ifndef HUSK_MANAGER_REGISTRY_ADMIN_H
#define HUSK_MANAGER_REGISTRY_ADMIN_H

#include "base/fail.h"
#include "base/loop.h"
#include "manager/model/config.h"

struct admin;

/* The config must outlive it. Touches nothing yet. */
struct admin *admin_new(struct loop *loop, const struct config *config);
/* Accepts NULL, returns NULL. */
struct admin *admin_free(struct admin *a);

struct admin_session {
	char *id;
	char *runtime;
	char *thread;
	char *state; /* starting, running, busy; left = its server has ended, and the next one can adopt it */
	char *owner; /* "process 123 on box" */
	uint64_t age_seconds, idle_seconds, left_seconds; /* left: until its hard lifetime ends */
	bool has_memory;
	uint64_t memory; /* bytes */

	/* Private. */
	char *container, *owner_id;
	uint64_t fence;
};

/* Oldest first, valid during the call. f: nothing could be listed. unsure: the engine did not answer, so that the list is the
 * store's alone. */
typedef void (*admin_list_fn)(void *ctx, const struct admin_session *v, size_t n, const struct fail *f,
			      const struct fail *unsure);
void admin_list(struct admin *a, admin_list_fn fn, void *ctx);

/* Removes the session's container, whoever uses it; id NULL = all of them. n were stopped; f: why not all. */
typedef void (*admin_stop_fn)(void *ctx, size_t n, const struct fail *f);
void admin_stop(struct admin *a, const char *id, admin_stop_fn fn, void *ctx);

/* One round of gc.h. Names of the containers that were removed, and how many sessions turned out to be over. */
typedef void (*admin_gc_fn)(void *ctx, char *const *containers, size_t n, size_t sessions, const struct fail *f);
void admin_gc(struct admin *a, admin_gc_fn fn, void *ctx);

#endif
