/* One import: writes the manager's entries as files below a writable directory. Everything is written into a
 * separate staging directory and moved into place at the end. So a failure before that leaves nothing behind, and
 * sandbox code only sees complete files. */
#ifndef HUSK_KERNELS_FILES_IMPORT_H
#define HUSK_KERNELS_FILES_IMPORT_H

#include <sys/stat.h>

#include "kernels/disk/disk.h"
#include "kernels/files/trees.h"

/* Staging directories are directly in the writable directory that contains the destination. */
#define IMPORT_STAGE_PREFIX ".husk-import-"

struct import;

/* `destination`/`into` if the destination is a directory; NULL if it is not, or if `into` is not the name of a file.
 * The caller owns it. */
char *import_place(const char *destination, const char *into);
/* 0 and *ret, or -errno with *ret_detail, a sentence for users, which the caller frees. `bytes` and `entries` are the
 * announced totals: if there is no room for them, the import is refused. `home`, borrowed during the call, watches the
 * home directory; NULL if there is none. */
int import_new(const char *destination, uint64_t bytes, uint64_t entries, const struct disk *home, struct import **ret,
	       char **ret_detail);
/* The same below a directory that is already open (borrowed); for tests. */
int import_open(int root, const char *rest, struct import **ret);
/* Likewise for one file whose data follows without an entry, in order, and whose size may be unknown. The condition is
 * checked now and once more before the file is moved into place. -EISDIR for a directory; -ESTALE or -EEXIST if the
 * condition does not hold. */
struct import_condition {
	const char *tag; /* the version that is replaced; "" = any */
	bool absent;	 /* there must be no file yet */
};
int import_write(const char *path, uint64_t bytes, const struct import_condition *condition, const struct disk *home,
		 struct import **ret, char **ret_detail);
/* After such a commit: the file as it is now; NULL if it is not in place. *ret_created: there was no file before. */
const struct stat *import_written(const struct import *im, bool *ret_created);

/* Closes all descriptors. Only import_clear() removes the staging directory. Accepts NULL, returns NULL. */
struct import *import_free(struct import *im);

/* 0, or -errno: -EPROTO if the manager's frames are invalid. After a failure only import_clear() may be called. */
int import_entry(struct import *im, const struct entry *e);
int import_data(struct import *im, uint64_t offset, const void *data, size_t n);
/* Checks that nothing is in the way, then moves the tree into place, a little at a time. Once started it must be called
 * until it is done: 1 if there is more to do, 0 if all is in place, -errno. */
int import_commit(struct import *im, int steps);
/* Removes the rest of the staging directory: true if there is more to do. */
bool import_clear(struct import *im, int steps);
/* A sentence about an error of import_entry(), import_data() or import_commit(); the caller owns it. */
char *import_explain(const struct import *im, int error);

uint64_t import_bytes(const struct import *im);
uint64_t import_entries(const struct import *im);

#endif
