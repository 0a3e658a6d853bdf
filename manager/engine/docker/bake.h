/* Images by the docker CLI: a directory of a running container on top of another image. The packages were installed
 * in a container with an environment of its own; what is kept starts from the runtime's image and so has its environment and
 * command, and nothing but the directory is added. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_BAKE_H
#define HUSK_MANAGER_ENGINE_DOCKER_BAKE_H

#include "base/list.h"
#include "manager/engine/engine.h"

struct bakery {
	struct loop *loop;
	const char *program;
	struct list bakes;
};

struct engine_bake *bake_start(struct bakery *b, const struct bake_spec *spec, engine_done_fn done, void *ctx);
struct engine_bake *bake_remove_image(struct bakery *b, const char *image, engine_done_fn done, void *ctx);
void bake_cancel(struct engine_bake *bake);
/* Adds the names of the containers that are being made. */
void bakery_scratches(const struct bakery *b, struct strv *names);
/* Drops what is under way at once. */
void bakery_release(struct bakery *b);

#endif
