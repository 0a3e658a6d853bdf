/* Sets of dependencies as images, built once and kept. The engine's image is authoritative: its labels say what is
 * in it. The store records which server is building a set and when each set was used.
 *
 * Sessions that need the same set at the same time share one build, within this server and, through the store, with
 * other servers. */
#ifndef HUSK_MANAGER_DEPS_DEPS_H
#define HUSK_MANAGER_DEPS_DEPS_H

#include "manager/engine/engine.h"
#include "manager/fence/fence.h"
#include "manager/model/runtime.h"
#include "manager/store/store.h"

struct deps;
struct deps_wait; /* one waiting caller */

struct deps_spec {
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	struct store *store;
	struct fence *fence;
	const char *owner; /* the id of this server */
};

struct deps_request {
	const struct runtime *runtime;
	const char *base; /* the image to add them to; NULL = the runtime's own image; borrowed for the call */
	const struct dependency *v; /* checked by deps_check(); borrowed for the call */
	size_t n;
	/* Output of an installer while it runs; may be NULL. */
	void (*on_output)(void *ctx, const char *text, size_t n);
	/* Called exactly once unless cancelled, never from inside deps_get(): the image to start and its content
	 * (JSON: name -> version), or f. The wait is gone afterwards. */
	void (*on_done)(void *ctx, const char *image, const char *versions, const struct fail *f);
	void *ctx;
};

/* Everything in the spec must outlive the deps. */
struct deps *deps_new(const struct deps_spec *spec);
/* Stops unfinished builds without waiting for them. Call it before the engine's remove_and_forget. */
struct deps *deps_free(struct deps *d);

struct deps_wait *deps_get(struct deps *d, const struct deps_request *req);
/* If no caller is left, the build ends and leaves nothing behind. */
void deps_cancel(struct deps_wait *w);

#endif
