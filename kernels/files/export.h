/* One export: a file or directory below a writable directory, as frames for the manager. Sandbox code may change everything
 * while it is read: each name is opened without following links and without waiting, and its type is taken from the open file. */
#ifndef HUSK_KERNELS_FILES_EXPORT_H
#define HUSK_KERNELS_FILES_EXPORT_H

#include <jansson.h>

#include "kernels/entry.h"

struct export;

/* What export_produce() adds at once: four pieces of a file, in one system call. */
#define EXPORT_STEP_BYTES (136u << 10)
/* What must be left of the credit. */
#define EXPORT_LEAST_BYTES (48u << 10)

/* What the manager understands. */
struct export_options {
	bool whole; /* a large file may go out as a descriptor */
	bool links; /* further names of a file may go out as ENTRY_LINK */
};

/* 0 and *ret, or -errno with *ret_detail, a sentence that the caller owns. */
int export_new(const char *path, const struct export_options *options, struct export **ret, char **ret_detail);
struct export *export_free(struct export *ex);

/* Appends whole frames of this call, at most `max` bytes (not less than EXPORT_LEAST_BYTES) and `steps` small things: 1 if there is
 * more to come, 0 if that was all, -errno with *ret_detail. */
int export_produce(struct export *ex, uint32_t call, int steps, size_t max, struct buf *out, char **ret_detail);
/* The descriptor that goes with the FILE frame which was appended last, read-only, for the caller to close; -1 if that was none. */
int export_take_file(struct export *ex);
/* It could not go: the file comes as data after all. Takes the descriptor. */
void export_give_back(struct export *ex, int file);
/* Adds entries, bytes and notices to an END. */
void export_describe(const struct export *ex, json_t *end);

#endif
