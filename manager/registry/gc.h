/* One round of tidying up behind servers that have ended: the store's containers that do not run and are older than
 * CONTAINER_ORPHAN_MIN_AGE_SECONDS, their warm containers, rows of sessions that nobody has any more, networks that nobody uses, stale
 * locks, the log of sessions that ended more than HISTORY_MAX_AGE_DAYS ago, and exports older than EXPORTS_MAX_AGE_DAYS. A container that
 * runs for somebody is never touched, no matter who started it: its own lease ends it. */
#ifndef HUSK_MANAGER_REGISTRY_GC_H
#define HUSK_MANAGER_REGISTRY_GC_H

#include "base/strv.h"
#include "manager/engine/engine.h"
#include "manager/model/config.h"
#include "manager/store/store.h"

struct gc;

struct gc_report {
	struct strv containers; /* removed */
	size_t sessions;	/* whose rows were marked as ended */
	size_t exports;		/* deleted */
};

struct gc_spec {
	struct loop *loop;
	const struct config *config;
	struct engine *engine;
	struct store *store;
	const char *self; /* the server whose own sessions gc leaves alone; must outlive the round */
	/* Once, never from inside gc_start(). f: what could not be done; the report says what was. Free the round there or
	 * later. */
	void (*on_done)(void *ctx, const struct gc_report *report, const struct fail *f);
	void *ctx;
};

struct gc *gc_start(const struct gc_spec *spec);
/* Accepts NULL, returns NULL. */
struct gc *gc_free(struct gc *g);

#endif
