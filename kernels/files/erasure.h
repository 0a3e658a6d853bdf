/* Deletes a file, or a directory with everything in it, a little at a time. If a delete is interrupted, the names that
 * it has removed by then are gone. */
#ifndef HUSK_KERNELS_FILES_ERASURE_H
#define HUSK_KERNELS_FILES_ERASURE_H

#include "base/defs.h"

struct erasure;

struct erasure_options {
	bool recursive;	 /* also a directory that is not empty */
	const char *tag; /* the expected version of the file; "" = any */
};

/* 0 and *ret, or -errno. */
int erasure_new(const char *path, const struct erasure_options *options, struct erasure **ret);
/* Accepts NULL, returns NULL. */
struct erasure *erasure_free(struct erasure *e);
/* Does at most `steps` small steps: 1 if there is more to do, 0 if the name is gone, -errno. */
int erasure_step(struct erasure *e, int steps);
/* The number of names that were removed. */
uint64_t erasure_names(const struct erasure *e);

#endif
