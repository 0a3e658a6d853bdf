/* husk-fit: prepares an image that is not Husk's own, so that sessions can run in it, or lists what the image lacks.
 * The manager has copied /opt/husk of the runtime's own image into it. husk-fit runs once, as root, without a network,
 * and with no capabilities except those for becoming the sandbox user. */
#ifndef HUSK_KERNELS_FIT_FIT_H
#define HUSK_KERNELS_FIT_FIT_H

#include <jansson.h>

#include "base/strv.h"

struct fit {
	const char *root;   /* "" = the image itself; tests use a folder */
	const char *path;   /* the image's PATH */
	bool as_root;	    /* false in a test, which cannot change its user */
	json_t *manifest;   /* runtime.json of the runtime's own image */
	char *interpreter;  /* path of the interpreter; NULL = not found */
	struct strv lacks;  /* what the image lacks, in words for users */
	char *no_installer; /* why packages cannot be installed into it; NULL = they can */
};

/* Checks that the image has what the runtime needs, and adds everything that is missing to f->lacks. */
void fit_check(struct fit *f);
/* Adds the users that sessions run as, and the folders for mounts. If the image already has a user with such a number,
 * that user stays. */
void fit_accounts(struct fit *f);
/* Runs the runtime's `prepare` step, once, with the image's interpreter. */
void fit_prepare(struct fit *f);
/* Writes runtime.json with the paths of this image and the environment of Husk's own images. */
void fit_manifest(struct fit *f);
void fit_release(struct fit *f);

/* --- programs --- */
/* Looks up a program by name, as a shell would; NULL = not found. The caller owns the path, which does not include
 * the root. */
char *fit_find(const struct fit *f, const char *name);
/* Runs a program, as the sandbox user if requested. Its output, at most 16 KiB, goes to *ret_text, which the
 * caller owns. 0 if it exited with 0 in time. */
int fit_run(const struct fit *f, char *const *argv, bool as_sandbox, char **ret_text);
/* The path of a file below the root. The caller owns it. */
char *fit_place(const struct fit *f, const char *path);

#endif
