/* Files that have changed since a moment: an interpreter goes back in time, files do not. */
#ifndef HUSK_KERNELS_CELLS_CHANGES_H
#define HUSK_KERNELS_CELLS_CHANGES_H

#include <jansson.h>
#include <time.h>

#include "base/defs.h"

#define CHANGES_MAX 20
/* Examines at most this many names: PID 1 does nothing else meanwhile. */
#define CHANGES_VISITED_MAX 20000

/* The regular files and links below the folder whose content or attributes have changed since then, as paths relative
 * to it, at most CHANGES_MAX; a new array. *ret_more: there are more, or not everything was examined. Deleted files
 * cannot be named. */
json_t *changes_since(const char *folder, const struct timespec *since, bool *ret_more);

#endif
