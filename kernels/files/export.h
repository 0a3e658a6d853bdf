/* One export: sends a file or directory below a writable directory to the manager, as frames. Sandbox code may change
 * files while they are read: each name is opened without following links and without blocking, and its type is taken
 * from the open file. */
#ifndef HUSK_KERNELS_FILES_EXPORT_H
#define HUSK_KERNELS_FILES_EXPORT_H

#include <jansson.h>

#include "kernels/entry.h"

struct export;

/* Bytes that export_produce() adds at once: four pieces of a file, in one system call. */
#define EXPORT_STEP_BYTES (136u << 10)
/* Minimum credit for one step. */
#define EXPORT_LEAST_BYTES (48u << 10)

/* Features that the manager supports. */
struct export_options {
	bool whole; /* a large file may be sent as a descriptor */
	bool links; /* further hard links to a file may be sent as ENTRY_LINK */
};

/* 0 and *ret, or -errno with *ret_detail, a sentence that the caller owns. */
int export_new(const char *path, const struct export_options *options, struct export **ret, char **ret_detail);
struct export *export_free(struct export *ex);

/* Appends whole frames of this export, at most `max` bytes (not less than EXPORT_LEAST_BYTES) and `steps` small
 * steps: 1 if there is more, 0 if that was all, -errno with *ret_detail. */
int export_produce(struct export *ex, uint32_t call, int steps, size_t max, struct buf *out, char **ret_detail);
/* Returns the read-only descriptor for the FILE frame that was appended last, which the caller closes; -1 if there is
 * none. */
int export_take_file(struct export *ex);
/* The descriptor could not be sent: the file is sent as data instead. Takes the descriptor. */
void export_give_back(struct export *ex, int file);
/* Adds entries, bytes and notices to an END. */
void export_describe(const struct export *ex, json_t *end);

#endif
