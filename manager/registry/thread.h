/* The conversation ("thread") that this process serves: HUSK_THREAD_ID, or one persistent id for each user in
 * $XDG_STATE_HOME/husk/mcp-thread.json, made when a session is first created. */
#ifndef HUSK_MANAGER_REGISTRY_THREAD_H
#define HUSK_MANAGER_REGISTRY_THREAD_H

#include "manager/model/config.h"

/* The id, a heap string that the caller owns. A state folder that can't be written gives an id for this process only. */
char *thread_id_load(const struct config *c);
/* The same, but nothing is made: NULL if there is none yet. */
char *thread_id_known(const struct config *c);

#endif
