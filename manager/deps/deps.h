/* Sets of dependencies as images, made once and kept: the engine's image is the truth (its labels say what is in it), the
 * store says who builds it now and what was used when. Creates that ask for the same set at once share one build, in this
 * server and, by the store, with others. */
#ifndef HUSK_MANAGER_DEPS_DEPS_H
#define HUSK_MANAGER_DEPS_DEPS_H

#include "manager/engine/engine.h"
#include "manager/fence/fence.h"
#include "manager/model/runtime.h"
#include "manager/store/store.h"

struct deps;
struct deps_wait; /* one caller */

struct deps_spec {
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	struct store *store;
	struct fence *fence;
	const char *owner; /* this server */
};

struct deps_request {
	const struct runtime *runtime;
	const char *base; /* the image that they are added to; NULL = the runtime's own; borrowed for the call */
	const struct dependency *v; /* checked by deps_check(); borrowed for the call */
	size_t n;
	/* What an installer says, while one runs; may be NULL. */
	void (*on_output)(void *ctx, const char *text, size_t n);
	/* Exactly once unless cancelled, never from inside the call: the image to start, what is in it (JSON: name -> version),
	 * or f. The wait is gone afterwards. */
	void (*on_done)(void *ctx, const char *image, const char *versions, const struct fail *f);
	void *ctx;
};

/* All of it must outlive the deps. */
struct deps *deps_new(const struct deps_spec *spec);
/* Builds under way are told to stop and not waited for; to be called before the engine's remove_and_forget. */
struct deps *deps_free(struct deps *d);

struct deps_wait *deps_get(struct deps *d, const struct deps_request *req);
/* The last one to leave ends the build, which leaves nothing behind. */
void deps_cancel(struct deps_wait *w);

#endif
