/* Folders: creating them, and which must not be copied. */
#ifndef HUSK_BASE_DIRS_H
#define HUSK_BASE_DIRS_H

#include <stdbool.h>

/* Creates the folder and its missing parents, each with mode 0700, and syncs every parent that got a new entry. 0
 * or -errno. A folder that exists already, or that is created at the same time, is fine. */
int dirs_make(const char *path);
/* The same for world-readable folders, subject to the umask. */
int dirs_make_public(const char *path);
/* True for "/" and for the home directory, which holds keys. path is absolute and contains no symbolic links. */
bool dirs_is_root_or_home(const char *path);

#endif
