/* An export as files of the host: the file itself, or the folder that its tar holds. Blocks: for programs that do nothing else
 * meanwhile. */
#ifndef HUSK_MANAGER_FILES_UNPACK_H
#define HUSK_MANAGER_FILES_UNPACK_H

#include "base/fail.h"
#include "base/strv.h"

/* A copy of a regular file, in the place of what is there; a link there is not followed. -1 with f. */
int unpack_file(const char *from, const char *to, struct fail *f);
/* Into the folder `to`, which is made if it is not there; files are replaced. Nothing is written outside of it, whatever the archive or the
 * folder holds: no link is followed, and one that leads out is left out, with a notice. -1 with f, and what was unpacked before is left. */
int unpack_folder(const char *tar, const char *to, struct strv *notices, struct fail *f);

#endif
