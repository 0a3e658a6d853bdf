/* A registry of images, by its API (version 2): reads manifests, and adds a layer to an image without an engine. Its
 * answers are untrusted: they are bounded, and checked where a digest says what they must be. */
#ifndef HUSK_MANAGER_ENGINE_KUBERNETES_REGISTRY_H
#define HUSK_MANAGER_ENGINE_KUBERNETES_REGISTRY_H

#include <jansson.h>

#include "base/fail.h"
#include "base/loop.h"
#include "base/strv.h"
#include "manager/model/sha256.h"

struct registry;
struct registry_task;

/* Nothing is contacted or loaded yet. ca_file: NULL = the library's own. */
struct registry *registry_new(struct loop *loop, const char *ca_file);
/* Free its tasks first. Accepts NULL, returns NULL. */
struct registry *registry_free(struct registry *r);

/* The strings of a reference: HOST/REPOSITORY:TAG. */
struct registry_place {
	char *origin; /* "https://registry.test:5000" */
	char *repository, *tag;
};
void registry_place_release(struct registry_place *p);
/* -1 if the reference names no registry. Owned by the caller. A registry on this machine is reached without TLS. */
int registry_place_of(struct registry_place *ret, const char *reference);

/* config: the image's configuration, NULL if f is set. A missing image is FAIL_IMAGE. Both are valid during the call. */
typedef void (*registry_read_fn)(void *ctx, const json_t *config, const struct fail *f);
typedef void (*registry_done_fn)(void *ctx, const struct fail *f);

/* Callbacks are called once from the loop. Free the task afterwards, or earlier to cancel it. */
struct registry_task *registry_read(struct registry *r, const char *reference, registry_read_fn done, void *ctx);
/* A missing image is success. */
struct registry_task *registry_remove(struct registry *r, const char *reference, registry_done_fn done, void *ctx);

struct registry_addition {
	const char *base, *image; /* references on the same registry; copied */
	const struct strv *labels;
	int fd; /* the layer, uncompressed; must stay open */
	uint64_t size;
	char digest[SHA256_SIZE];
};
struct registry_task *registry_add(struct registry *r, const struct registry_addition *addition, registry_done_fn done,
				   void *ctx);
struct registry_task *registry_task_free(struct registry_task *t);

/* --- pure, for tests ----------------------------------------------------------------------------------------------- */
/* The manifest and configuration of the image with one more layer. False if they are not those of one image. */
bool registry_extend(json_t *manifest, json_t *config, const struct registry_addition *addition);
/* "sha256:" and 64 hex digits. */
bool registry_is_digest(const char *text);

#endif
