/* Folders of our own. */
#ifndef HUSK_BASE_DIRS_H
#define HUSK_BASE_DIRS_H

/* Makes the folder and what is missing above it, mode 0700 each, and syncs every parent that got a new entry. 0 or -errno;
 * a folder that is there already is fine, and so is somebody who makes it at the same time. */
int dirs_make(const char *path);

#endif
