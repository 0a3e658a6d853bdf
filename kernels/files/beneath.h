/* Opens files in directories that sandbox code may write to, such that PID 1 cannot be led out of these directories: no
 * symbolic or magic link is followed, no mount is crossed, and nothing blocks. All paths here are normal: components
 * between single slashes, none of them "." or "..". Functions return a descriptor that the caller owns, or -errno. */
#ifndef HUSK_KERNELS_FILES_BENEATH_H
#define HUSK_KERNELS_FILES_BENEATH_H

#include "base/defs.h"

/* The writable directory that contains an absolute path; *ret_rest is the part below it ("" = the directory
 * itself). NULL if there is none, or if the path is not normal. */
const char *beneath_split(const char *path, const char **ret_rest);
/* Like open() below a directory; O_NOFOLLOW, O_NONBLOCK, O_NOCTTY and O_CLOEXEC are added to `flags`. With O_PATH, only
 * O_NOFOLLOW and O_CLOEXEC are. */
int beneath_open(int dir, const char *path, int flags);
/* The directory of the path's last component, created if it is missing; *ret_name is that component. */
int beneath_make_parents(int dir, const char *path, const char **ret_name);

#endif
