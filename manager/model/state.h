/* The words of a session's life: what it is now, and what the store's row says of it. */
#ifndef HUSK_MANAGER_MODEL_STATE_H
#define HUSK_MANAGER_MODEL_STATE_H

#include "base/defs.h"

enum session_state {
	SESSION_STARTING, /* container and kernel are on their way up */
	SESSION_WARM,	  /* they are up, and nobody's yet */
	SESSION_ADOPTING, /* taken over from a server that ended; PID 1 has not answered yet */
	SESSION_READY,
	SESSION_STOPPING, /* being removed because somebody asked for it */
	SESSION_DEAD,	  /* gone with a cause; stays known until it is stopped */
};
/* "starting", "warm", "adopting", "running", "stopping", "dead". */
const char *session_state_name(enum session_state state);

/* Of a row in the store. It holds a slot while it is starting or running; one that is warm makes way for those. */
enum row_state { ROW_KEEP, ROW_STARTING, ROW_RUNNING, ROW_WARM, ROW_ENDED };
/* "starting", "running", "warm", "ended"; NULL for ROW_KEEP, which leaves a row's state as it is. */
const char *row_state_name(enum row_state state);
/* ROW_ENDED for a word that this Husk does not know: such a row is not touched. */
enum row_state row_state_find(const char *name);

/* A run whose caller was given a handle. */
enum task_state {
	TASK_WORKING,
	TASK_CANCELLING, /* its end was asked for */
	TASK_ENDED,	 /* however it did */
	TASK_CANCELLED,	 /* because that was asked for */
};

#endif
