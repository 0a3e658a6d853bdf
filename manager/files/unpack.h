/* Writes an export to the host: the file itself, or the folder in its tar. These functions block: they are for
 * programs that do nothing else in the meantime. */
#ifndef HUSK_MANAGER_FILES_UNPACK_H
#define HUSK_MANAGER_FILES_UNPACK_H

#include "base/fail.h"
#include "base/strv.h"

/* Copies a regular file and replaces an existing one; an existing link is not followed. The copy is executable if
 * `mode` lets the owner execute it. Its modification time is mtime_ms, unless that is 0. -1 with f. */
int unpack_file(const char *from, const char *to, uint64_t mode, uint64_t mtime_ms, struct fail *f);
/* Unpacks into the folder `to`, which is created if needed; files are replaced. Nothing is written outside of it,
 * whatever the archive or the folder contains: no link is followed, and a link that leads out is skipped with a
 * notice. -1 with f; files that were unpacked before stay. */
int unpack_folder(const char *tar, const char *to, struct strv *notices, struct fail *f);
/* Writes one file of the archive to a descriptor. `below` is its path in the archived folder. FAIL_NOT_FOUND if there
 * is no such member, or if it is not a file. */
int unpack_one(const char *tar, const char *below, int to, uint64_t *ret_size, struct fail *f);

#endif
