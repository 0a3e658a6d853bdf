/* husk-fit: makes an image that somebody else built fit for sessions, or says what it lacks. The manager has put /opt/husk of the
 * runtime's own image into it; husk-fit runs once, as root without a network and with no capabilities but to become the sandbox user. */
#ifndef HUSK_KERNELS_FIT_FIT_H
#define HUSK_KERNELS_FIT_FIT_H

#include <jansson.h>

#include "base/strv.h"

struct fit {
	const char *root;   /* "" = the image itself; a test has a folder */
	const char *path;   /* the image's PATH */
	bool as_root;	    /* false in a test: nobody else can be become */
	json_t *manifest;   /* runtime.json of the runtime's own image */
	char *interpreter;  /* where it is; NULL = nowhere */
	struct strv lacks;  /* what the image lacks, for people */
	char *no_installer; /* why packages cannot be installed into it; NULL = they can */
};

/* What the runtime needs of an image: all that is lacking goes to f->lacks. */
void fit_check(struct fit *f);
/* The users that sessions run as, and the folders that are mounted. Users that the image has with such a number stay. */
void fit_accounts(struct fit *f);
/* The runtime's own step: what it does once with the image's interpreter. */
void fit_prepare(struct fit *f);
/* runtime.json with the commands as they are here, and the environment that Husk's own images have. */
void fit_manifest(struct fit *f);
void fit_release(struct fit *f);

/* --- programs --- */
/* A program by its name, as a shell would find it; NULL = nowhere. The caller owns it, without the root. */
char *fit_find(const struct fit *f, const char *name);
/* Runs it, as the sandbox user if asked to; what it prints, at most 16 KiB, goes to *ret_text, which the caller owns. 0 if it exited
 * with 0 in time. */
int fit_run(const struct fit *f, char *const *argv, bool as_sandbox, char **ret_text);
/* A file below the root. The caller owns it. */
char *fit_place(const struct fit *f, const char *path);

#endif
