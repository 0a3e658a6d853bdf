/* Where we put the connection files that we write. Each file has a folder, which its process removes at the end. The
 * next process removes the folder of a process that was killed. */
#ifndef HUSK_JUPYTER_FACE_PLACE_H
#define HUSK_JUPYTER_FACE_PLACE_H

#include "base/defs.h"

/* A folder in the state folder. If the names of ipc sockets would be too long there, $XDG_RUNTIME_DIR or /tmp. The
 * caller frees it. */
char *place_find(const char *state_dir, bool tcp);
/* Removes old connection folders that no process holds. */
void place_sweep(const char *place);
/* Locks the file until the descriptor is closed. Returns -1 with errno if it cannot be opened or locked. */
int place_hold(const char *file);

#endif
