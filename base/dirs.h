/* Creates folders. */
#ifndef HUSK_BASE_DIRS_H
#define HUSK_BASE_DIRS_H

/* Creates the folder and its missing parents, each with mode 0700, and syncs every parent that got a new entry. 0
 * or -errno. A folder that exists already, or that is created at the same time, is fine. */
int dirs_make(const char *path);
/* The same for world-readable folders, subject to the umask. */
int dirs_make_public(const char *path);

#endif
