/* Builds images with the docker CLI: adds a directory of a container to another image.
 *
 * Packages are installed in a container with a different environment. The result is based on the runtime's image,
 * so it has that image's environment and command, and only the directory is added. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_BAKE_H
#define HUSK_MANAGER_ENGINE_DOCKER_BAKE_H

#include "base/list.h"
#include "manager/engine/engine.h"

struct bakery {
	struct loop *loop;
	const char *program;
	char *const *env; /* as in child_spec */
	struct list bakes;
};

struct engine_bake *bake_start(struct bakery *b, const struct bake_spec *spec, engine_done_fn done, void *ctx);
struct engine_bake *bake_remove_image(struct bakery *b, const char *image, engine_done_fn done, void *ctx);
void bake_cancel(struct engine_bake *bake);
/* Adds the names of the containers that unfinished bakes use. */
void bakery_scratches(const struct bakery *b, struct strv *names);
/* Drops unfinished bakes at once. */
void bakery_release(struct bakery *b);

#endif
