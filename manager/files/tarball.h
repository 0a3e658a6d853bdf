/* Writes a tar archive with libarchive, as data arrives. The format is pax, so that any name, size and time fits,
 * and holes stay holes. All functions block. They return 0, or -1 with f. */
#ifndef HUSK_MANAGER_FILES_TARBALL_H
#define HUSK_MANAGER_FILES_TARBALL_H

#include "base/fail.h"
#include "kernels/entry.h"

struct tarball;

struct tarball_piece {
	uint64_t at, n;
};

/* fn gets the archive's bytes in order and returns 0 or -errno. `top` is the first component of every name. NULL
 * with f if libarchive cannot be loaded. */
struct tarball *tarball_new(const char *top, int (*fn)(void *ctx, const void *data, size_t n), void *ctx,
			    struct fail *f);
struct tarball *tarball_free(struct tarball *t);

/* pieces: where a file has data; NULL = everywhere. */
int tarball_entry(struct tarball *t, const struct entry *e, const struct tarball_piece *pieces, size_t n,
		  struct fail *f);
/* The next bytes of the file, with zeros for holes. */
int tarball_data(struct tarball *t, const void *data, size_t n, struct fail *f);
int tarball_end(struct tarball *t, struct fail *f);

#endif
