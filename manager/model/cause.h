/* Why something failed or ended, finer than a kind: what code decides by, and what a face words its next step by. Each value
 * has a name that is stored and shown; sentences are never compared. */
#ifndef HUSK_MANAGER_MODEL_CAUSE_H
#define HUSK_MANAGER_MODEL_CAUSE_H

#include "base/fail.h"

enum cause {
	CAUSE_NONE = 0,

	/* --- the engine --- */
	CAUSE_NO_CLIENT,      /* the engine's client program cannot be run */
	CAUSE_NO_ENGINE,      /* nothing answers at the engine's address */
	CAUSE_ENGINE_SILENT,  /* it exists and does not answer in time */
	CAUSE_ENGINE_REFUSED, /* it answered with an error */
	CAUSE_NO_IMAGE,
	CAUSE_NO_CONTAINER,  /* it is not there, or does not run */
	CAUSE_NOT_SUPPORTED, /* this engine cannot do it */

	/* --- a session's end --- */
	CAUSE_STOPPED,	       /* somebody asked for it */
	CAUSE_STOPPED_BY_HAND, /* a person, from a terminal */
	CAUSE_IDLE,
	CAUSE_LIFETIME,
	CAUSE_LEASE,
	CAUSE_OOM,     /* the kernel chose PID 1 */
	CAUSE_EXITED,  /* the container's process ended */
	CAUSE_REMOVED, /* somebody else removed the container */
	CAUSE_ENGINE_RESTARTED,
	CAUSE_UNWATCHED, /* it died while no server was attached */
	CAUSE_TAKEN_OVER,
	CAUSE_DISK,	     /* it took more of the disk than it may */
	CAUSE_KERNEL_FAILED, /* the kernel never came up */
	CAUSE_PROTOCOL,	     /* PID 1 broke the protocol */
	CAUSE_HALF_MADE,     /* its server ended while it started */

	/* --- a call that did not run --- */
	CAUSE_NO_SESSION,
	CAUSE_OTHER_CONVERSATION,
	CAUSE_OTHER_SERVER, /* a live server uses it */
	CAUSE_STARTING,
	CAUSE_ADOPTING,
	CAUSE_QUEUE_FULL,
	CAUSE_TOO_LONG, /* code or command */
	CAUSE_RECONNECTING,
	CAUSE_LIMIT_SESSIONS,
	CAUSE_LIMIT_CONVERSATION_SESSIONS,
	CAUSE_LIMIT_CONVERSATIONS,
	CAUSE_TOO_MUCH, /* memory, CPUs or disk: more than the operator allows */
	CAUSE_TOO_LITTLE,
	CAUSE_USER_TAKEN,  /* between store and registry only: another name is tried */
	CAUSE_NOT_LISTED,  /* an image that the operator does not offer */
	CAUSE_UNFIT,	   /* an image that lacks what sessions need */
	CAUSE_NETWORK_OFF, /* the operator has switched it off */
	CAUSE_ENV_NAME,
	CAUSE_ENV_SIZE,
	CAUSE_NO_DIRECTORY, /* where it was to start */
	CAUSE_NOT_PROVEN,   /* the sandbox does not hold, or that could not be shown */
	CAUSE_NO_FENCE,	    /* the network is not to be had without the rules around it */
	CAUSE_NO_RUN,
	CAUSE_RUN_TOLD,	       /* it has ended, and somebody was told */
	CAUSE_RUN_WAITED,      /* another call waits for it */
	CAUSE_RUN_FOREIGN,     /* somebody else who uses the session has begun it */
	CAUSE_NOT_INTERACTIVE, /* it was not started so that it may ask */
	CAUSE_NOT_ASKING,      /* it may, and does not now */
	CAUSE_INPUT_SIZE,
	CAUSE_OLD_SESSION,	/* its PID 1 is of an older Husk, and cannot do it */
	CAUSE_INTERPRETER_BUSY, /* it answers questions while it is idle */
	CAUSE_CANNOT_ANSWER,	/* it takes no questions */
	CAUSE_NO_TASK,
	CAUSE_TASK_EXPIRED,

	/* --- a run without its end --- */
	CAUSE_NO_ANSWER, /* nothing comes from the container */
	CAUSE_NO_END,	 /* it answers, and the run's end never came */

	/* --- installs --- */
	CAUSE_INSTALL_FAILED,
	CAUSE_INSTALL_TIME,
	CAUSE_INSTALL_MEMORY,
	CAUSE_INSTALL_SIZE,
	CAUSE_INSTALL_LOST,
	CAUSE_INSTALL_INDEX, /* the packages' index cannot be reached or refuses */

	/* --- files --- */
	CAUSE_STREAM_BROKE, /* while files were copied */
	CAUSE_STALLED,	    /* the container stopped taking or sending */
	CAUSE_NOT_EXPORTED,
	CAUSE_FOLDER_TOO_LARGE, /* to be copied along with a program */
	CAUSE_PATH_DENIED,	/* on the host, outside of the folders that are allowed */

	/* --- attaching to another process --- */
	CAUSE_NO_SERVER,     /* the connection to it is gone */
	CAUSE_ATTACH_OFF,    /* it lets nobody in */
	CAUSE_SERVER_SILENT, /* it does not answer */
	CAUSE_OTHER_VERSION, /* of the protocol */

	CAUSE_COUNT,
};

/* "no_engine", …: stable, as stored and shown. */
const char *cause_name(enum cause cause);
/* CAUSE_NONE for a name that this Husk does not know. */
enum cause cause_find(const char *name);

/* Sets kind, cause and sentence; returns -1 like fail_set(). */
int cause_set(struct fail *f, enum fail_kind kind, enum cause cause, const char *fmt, ...) PRINTF_LIKE(4, 5);
enum cause cause_of(const struct fail *f);
/* The one way to say that there is no such session. */
int cause_no_session(struct fail *f, const char *id);

#endif
