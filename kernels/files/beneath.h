/* Ways into the directories that sandbox code may write, for a PID 1 that must not be led out of them: no symbolic or magic
 * link is followed, no mount is crossed, nothing that could block is waited for. All paths here are normal: components between
 * single slashes, none of them "." or "..". Functions return a descriptor that the caller owns, or -errno. */
#ifndef HUSK_KERNELS_FILES_BENEATH_H
#define HUSK_KERNELS_FILES_BENEATH_H

#include "base/defs.h"

/* The writable directory that holds an absolute path; *ret_rest is the part below it ("" = the directory itself). NULL if
 * none does, or if the path is not normal. */
const char *beneath_split(const char *path, const char **ret_rest);
/* Like open() below a directory; `flags` get O_NOFOLLOW, O_NONBLOCK, O_NOCTTY and O_CLOEXEC. */
int beneath_open(int dir, const char *path, int flags);
/* The directory that holds the last component of the path, made where it is missing; *ret_name is that component. */
int beneath_make_parents(int dir, const char *path, const char **ret_name);

#endif
