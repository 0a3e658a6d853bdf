/* The states of a session, and of its row in the store. */
#ifndef HUSK_MANAGER_MODEL_STATE_H
#define HUSK_MANAGER_MODEL_STATE_H

#include "base/defs.h"

enum session_state {
	SESSION_STARTING, /* container and kernel are starting */
	SESSION_WARM,	  /* both run, but do not belong to a session yet */
	SESSION_ADOPTING, /* adopted from a server that ended; PID 1 has not answered yet */
	SESSION_READY,
	SESSION_STOPPING, /* being removed on request */
	SESSION_DEAD,	  /* ended with a cause; the session stays known until it is stopped */
};
/* "starting", "warm", "adopting", "running", "stopping", "dead". */
const char *session_state_name(enum session_state state);

/* The state of a row in the store. A starting or running session takes up a place; a warm container gives its place
 * to a session that needs it. */
enum row_state { ROW_KEEP, ROW_STARTING, ROW_RUNNING, ROW_WARM, ROW_ENDED };
/* "starting", "running", "warm", "ended"; NULL for ROW_KEEP, which leaves the state unchanged. */
const char *row_state_name(enum row_state state);
/* ROW_ENDED for an unknown word; such a row is not touched. */
enum row_state row_state_find(const char *name);

/* The state of a task: a run whose caller was given a handle. */
enum task_state {
	TASK_WORKING,
	TASK_CANCELLING, /* cancellation was requested */
	TASK_ENDED,	 /* it ended, no matter how */
	TASK_CANCELLED,	 /* cancelled on request */
};

#endif
