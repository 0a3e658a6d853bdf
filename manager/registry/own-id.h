/* The id of the user's own conversation: HUSK_THREAD_ID, or one that is kept in $XDG_STATE_HOME/husk/mcp-thread.json, made when
 * a session is first created. Both functions read files: not for the loop. */
#ifndef HUSK_MANAGER_REGISTRY_OWN_ID_H
#define HUSK_MANAGER_REGISTRY_OWN_ID_H

#include "base/defs.h"

/* Made if there is none. A state folder that cannot be written gives an id for this process only. The caller owns it. */
char *own_id_load(const char *state_dir);
/* NULL if there is none yet. The caller owns it. */
char *own_id_known(const char *state_dir);

#endif
