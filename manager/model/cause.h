/* Why something failed or ended, in more detail than a kind. Code decides by the cause, and a face words its next
 * step by it. Each value has a name that is stored and shown. Sentences are never compared. */
#ifndef HUSK_MANAGER_MODEL_CAUSE_H
#define HUSK_MANAGER_MODEL_CAUSE_H

#include "base/fail.h"

enum cause {
	CAUSE_NONE = 0,

	/* --- the engine --- */
	CAUSE_NO_CLIENT,      /* the engine's client program cannot be run */
	CAUSE_NO_ENGINE,      /* nothing answers at the engine's address */
	CAUSE_ENGINE_SILENT,  /* it exists but does not answer in time */
	CAUSE_ENGINE_REFUSED, /* it answered with an error */
	CAUSE_NO_IMAGE,
	CAUSE_NO_CONTAINER,  /* the container does not exist or does not run */
	CAUSE_NOT_SUPPORTED, /* this engine does not support it */

	/* --- a session's end --- */
	CAUSE_STOPPED,	       /* on request */
	CAUSE_STOPPED_BY_HAND, /* on request of a person at a terminal */
	CAUSE_IDLE,
	CAUSE_LIFETIME,
	CAUSE_LEASE,
	CAUSE_OOM,     /* the OOM killer chose PID 1 */
	CAUSE_EXITED,  /* the container's process ended */
	CAUSE_REMOVED, /* another program removed the container */
	CAUSE_ENGINE_RESTARTED,
	CAUSE_UNWATCHED, /* it died while no server was attached */
	CAUSE_TAKEN_OVER,
	CAUSE_DISK,	     /* it exceeded its disk limit */
	CAUSE_KERNEL_FAILED, /* the kernel did not start */
	CAUSE_PROTOCOL,	     /* PID 1 violated the protocol */
	CAUSE_HALF_MADE,     /* its server ended during the start */

	/* --- a call that did not run --- */
	CAUSE_NO_SESSION,
	CAUSE_OTHER_CONVERSATION,
	CAUSE_OTHER_SERVER, /* another live server owns it */
	CAUSE_STARTING,
	CAUSE_ADOPTING,
	CAUSE_QUEUE_FULL,
	CAUSE_TOO_LONG, /* code or command */
	CAUSE_RECONNECTING,
	CAUSE_LIMIT_SESSIONS,
	CAUSE_LIMIT_CONVERSATION_SESSIONS,
	CAUSE_LIMIT_CONVERSATIONS,
	CAUSE_TOO_MUCH, /* memory, CPUs or disk beyond the operator's limit */
	CAUSE_TOO_LITTLE,
	CAUSE_USER_TAKEN,  /* between store and registry only: another name is tried */
	CAUSE_NOT_LISTED,  /* the operator does not offer this image */
	CAUSE_UNFIT,	   /* the image lacks something that sessions need */
	CAUSE_NETWORK_OFF, /* switched off by the operator */
	CAUSE_ENV_NAME,
	CAUSE_ENV_SIZE,
	CAUSE_NO_DIRECTORY, /* the start directory does not exist */
	CAUSE_NOT_PROVEN,   /* the session failed its probe, or the probe could not be run */
	CAUSE_NO_FENCE,	    /* the firewall rules cannot be set, and the network is refused without them */
	CAUSE_NO_RUN,
	CAUSE_RUN_TOLD,	       /* it has ended, and its result was delivered */
	CAUSE_RUN_WAITED,      /* another request waits for it */
	CAUSE_RUN_FOREIGN,     /* another client of the session started it */
	CAUSE_NOT_INTERACTIVE, /* it was not started as interactive */
	CAUSE_NO_PROMPT,       /* it is interactive but does not wait for input now */
	CAUSE_INPUT_SIZE,
	CAUSE_OLD_SESSION,	/* its PID 1 belongs to an older Husk and does not support this */
	CAUSE_INTERPRETER_BUSY, /* it answers queries only while it is idle */
	CAUSE_CANNOT_ANSWER,	/* it does not support queries */
	CAUSE_NO_TASK,
	CAUSE_TASK_EXPIRED,

	/* --- a run without its end --- */
	CAUSE_NO_ANSWER, /* the container sends nothing */
	CAUSE_NO_END,	 /* it answers, but the run's end never arrived */

	/* --- installs --- */
	CAUSE_INSTALL_FAILED,
	CAUSE_INSTALL_TIME,
	CAUSE_INSTALL_MEMORY,
	CAUSE_INSTALL_SIZE,
	CAUSE_INSTALL_LOST,
	CAUSE_INSTALL_INDEX, /* the package index is unreachable or refuses */

	/* --- files --- */
	CAUSE_STREAM_BROKE, /* during a copy */
	CAUSE_STALLED,	    /* the container stopped accepting or sending data */
	CAUSE_NOT_EXPORTED,
	CAUSE_FOLDER_TOO_LARGE, /* a folder to be copied with a program */
	CAUSE_PATH_DENIED,	/* a host path outside the allowed folders */

	/* --- attaching to another process --- */
	CAUSE_NO_SERVER,     /* the connection was lost */
	CAUSE_ATTACH_OFF,    /* it accepts no clients */
	CAUSE_SERVER_SILENT, /* it does not answer */
	CAUSE_OTHER_VERSION, /* protocol violation */

	CAUSE_COUNT,
};

/* "no_engine", …: stable, as stored and shown. */
const char *cause_name(enum cause cause);
/* CAUSE_NONE for an unknown name. */
enum cause cause_find(const char *name);

/* Sets kind, cause and sentence; returns -1 like fail_set(). */
int cause_set(struct fail *f, enum fail_kind kind, enum cause cause, const char *fmt, ...) PRINTF_LIKE(4, 5);
enum cause cause_of(const struct fail *f);
/* The only function that reports an unknown session. */
int cause_no_session(struct fail *f, const char *id);

#endif
