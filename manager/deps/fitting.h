/* Adapts other people's images for sessions. A new layer below /opt/husk has husk-client, the kernel and everything
 * that the kernel needs, copied from the runtime's own image. husk-fit adapts these files to the image. The result
 * is kept under a name that is a hash of both images. Sessions that need the same image at the same time share the
 * work.
 *
 * Programs of such an image run with no more rights than a session has. The only exception is its interpreter, which
 * runs once as root, without a network and without capabilities. */
#ifndef HUSK_MANAGER_DEPS_FITTING_H
#define HUSK_MANAGER_DEPS_FITTING_H

#include "manager/engine/engine.h"
#include "manager/model/runtime.h"
#include "manager/store/store.h"

struct fitting;
struct fitting_wait; /* one waiting caller */

struct fitting_spec {
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	struct store *store;
};

struct fitting_request {
	const struct runtime *runtime;
	const char *name; /* one of CONTAINER_IMAGES; borrowed for the call */
	/* Called exactly once unless cancelled, never from inside fitting_get(): the image to start, or f. The wait
	 * is gone afterwards. */
	void (*on_done)(void *ctx, const char *image, const struct fail *f);
	void *ctx;
};

/* -1 with f if the image is not listed, or the runtime cannot be added to other images. */
int fitting_check(const struct config *config, const struct runtime *runtime, const char *name, struct fail *f);

/* Everything in the spec must outlive the fitting. */
struct fitting *fitting_new(const struct fitting_spec *spec);
/* See deps_free(). Accepts NULL, returns NULL. */
struct fitting *fitting_free(struct fitting *f);

/* The request must have passed fitting_check(). */
struct fitting_wait *fitting_get(struct fitting *f, const struct fitting_request *req);
/* If no caller is left, the work ends and leaves nothing behind. */
void fitting_cancel(struct fitting_wait *w);

#endif
