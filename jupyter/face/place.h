/* Where connection files of our own are: a folder for each, that goes with the process. What a killed one has left is removed by the
 * next. */
#ifndef HUSK_JUPYTER_FACE_PLACE_H
#define HUSK_JUPYTER_FACE_PLACE_H

#include "base/defs.h"

/* Below the state folder, unless sockets there would have too long a name and `tcp` does not do without them. The caller frees it. */
char *place_find(const char *state_dir, bool tcp);
/* Removes what nobody holds. */
void place_sweep(const char *place);
/* The file is in use until the descriptor is closed; -1 and errno if that cannot be said. */
int place_hold(const char *file);

#endif
