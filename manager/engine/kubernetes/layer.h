/* Pure: turns the tar archive of one folder, which an untrusted container sends, into a layer of an image. Every header
 * is written again from what was checked, so the layer can only have files, directories and links inside the folder:
 * nothing that replaces a program of the image, no device, no set-user-ID, no whiteout. */
#ifndef HUSK_MANAGER_ENGINE_KUBERNETES_LAYER_H
#define HUSK_MANAGER_ENGINE_KUBERNETES_LAYER_H

#include "base/fail.h"

/* Bytes of the names of all folders, which are kept until the end. */
#define LAYER_FOLDERS_MAX (16u << 20)

struct layer;

struct layer_spec {
	const char *folder; /* "opt/husk/deps"; must stay valid */
	uint64_t max;	    /* bytes of the layer */
	/* Gets the layer in pieces. 0, or -errno to give up. */
	int (*write)(void *ctx, const void *data, size_t n);
	void *ctx;
};

/* Never returns NULL. */
struct layer *layer_new(const struct layer_spec *spec);
/* Takes the next bytes of the archive. 0, or -1 with f: then nothing more may be passed. */
int layer_add(struct layer *l, const void *data, size_t n, struct fail *f);
/* True once the archive's end has come and the layer is written. */
bool layer_is_complete(const struct layer *l);
/* Accepts NULL, returns NULL. */
struct layer *layer_free(struct layer *l);

#endif
