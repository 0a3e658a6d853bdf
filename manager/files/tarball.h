/* A tar archive, written as the data comes (pax, so that any name, size and time fits; holes stay holes), by libarchive. All of it
 * blocks. Functions return 0, or -1 with f filled. */
#ifndef HUSK_MANAGER_FILES_TARBALL_H
#define HUSK_MANAGER_FILES_TARBALL_H

#include "base/fail.h"
#include "kernels/entry.h"

struct tarball;

struct tarball_piece {
	uint64_t at, n;
};

/* What is written goes to fn, in order: 0, or -errno. `top` is the first component of every name. NULL with f filled where
 * libarchive cannot be loaded. */
struct tarball *tarball_new(const char *top, int (*fn)(void *ctx, const void *data, size_t n), void *ctx,
			    struct fail *f);
struct tarball *tarball_free(struct tarball *t);

/* pieces: where the data of a file is; NULL = everywhere. */
int tarball_entry(struct tarball *t, const struct entry *e, const struct tarball_piece *pieces, size_t n,
		  struct fail *f);
/* The next bytes of the file; those of holes are zeros. */
int tarball_data(struct tarball *t, const void *data, size_t n, struct fail *f);
int tarball_end(struct tarball *t, struct fail *f);

#endif
