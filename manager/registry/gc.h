/* One round of garbage collection, which cleans up after servers that have ended. It removes the store's containers
 * that do not run and are older than CONTAINER_ORPHAN_MIN_AGE_SECONDS, warm containers of dead servers, unused
 * networks, stale locks, the log of sessions that ended more than HISTORY_MAX_AGE_DAYS ago, and exports older than
 * EXPORTS_MAX_AGE_DAYS. It marks the rows of sessions that no longer exist as ended.
 *
 * A running container of a session is never touched, no matter which server started it: its own lease ends it. */
#ifndef HUSK_MANAGER_REGISTRY_GC_H
#define HUSK_MANAGER_REGISTRY_GC_H

#include "base/strv.h"
#include "manager/engine/engine.h"
#include "manager/model/config.h"
#include "manager/store/store.h"

struct gc;

struct gc_report {
	struct strv containers; /* containers removed */
	size_t sessions;	/* rows that were marked as ended */
	size_t exports;		/* exports deleted */
};

struct gc_spec {
	struct loop *loop;
	const struct config *config;
	struct engine *engine;
	struct store *store;
	const char *self; /* id of this server, whose sessions gc does not touch; must outlive the round */
	/* Called once, never from inside gc_start(). The report says what was done, even if f says what failed. Free
	 * the round in this callback or later. */
	void (*on_done)(void *ctx, const struct gc_report *report, const struct fail *f);
	void *ctx;
};

struct gc *gc_start(const struct gc_spec *spec);
/* Accepts NULL, returns NULL. */
struct gc *gc_free(struct gc *g);

#endif
