/* The id of the user's own conversation: HUSK_THREAD_ID, or one stored in $XDG_STATE_HOME/husk/mcp-thread.json,
 * which is created with the first session. Both functions read files, so do not call them on the loop. */
#ifndef HUSK_MANAGER_REGISTRY_OWN_ID_H
#define HUSK_MANAGER_REGISTRY_OWN_ID_H

#include "base/defs.h"

/* Creates an id if there is none. If the state folder is not writable, the id is valid for this process only. The
 * caller owns it. */
char *own_id_load(const char *state_dir);
/* NULL if there is none yet. The caller owns it. */
char *own_id_known(const char *state_dir);

#endif
