/* Adapts images of other people for sessions. husk-client, the kernel and its needs are added as a layer below
 * /opt/husk, taken from the runtime's own image, and husk-fit adapts them to the image. The result is kept under a
 * name that is a hash of both images. Creates that need the same image at the same time share the work.
 *
 * Nothing of such an image runs with more than a session's rights, except its interpreter, once, as root without a
 * network and without capabilities. */
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
	/* Called exactly once unless cancelled, never from inside the function that starts it: the image to start,
	 * or f. The wait is gone afterwards. */
	void (*on_done)(void *ctx, const char *image, const struct fail *f);
	void *ctx;
};

/* -1 with f if it is not listed, or the runtime cannot be added to other images. */
int fitting_check(const struct config *config, const struct runtime *runtime, const char *name, struct fail *f);

/* Everything in the options must outlive the fitting. */
struct fitting *fitting_new(const struct fitting_spec *spec);
/* See deps_free(). Accepts NULL, returns NULL. */
struct fitting *fitting_free(struct fitting *f);

/* Checked before. */
struct fitting_wait *fitting_get(struct fitting *f, const struct fitting_request *req);
/* If no caller is left, the work ends and leaves nothing behind. */
void fitting_cancel(struct fitting_wait *w);

#endif
