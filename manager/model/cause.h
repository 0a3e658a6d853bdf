/* Why something failed or ended, in more detail than the kind of a struct fail. Code decides by the cause, never by
 * the text of a message, and a face chooses the next step to suggest by it. Each cause has a name, which is stored
 * and shown. */
#ifndef HUSK_MANAGER_MODEL_CAUSE_H
#define HUSK_MANAGER_MODEL_CAUSE_H

#include "base/fail.h"

enum cause {
	CAUSE_NONE = 0,

	/* --- the engine --- */
	CAUSE_NO_CLIENT,      /* the engine's client program cannot be run */
	CAUSE_NO_ENGINE,      /* nothing answers at the engine's address */
	CAUSE_ENGINE_SILENT,  /* the engine exists but does not answer in time */
	CAUSE_ENGINE_REFUSED, /* the engine answered with an error */
	CAUSE_NO_IMAGE,
	CAUSE_NO_NODE,	     /* no node of the cluster has room */
	CAUSE_NO_CONTAINER,  /* the container does not exist or does not run */
	CAUSE_NOT_SUPPORTED, /* the engine does not support the request */

	/* --- a session's end --- */
	CAUSE_STOPPED,	       /* on request */
	CAUSE_STOPPED_BY_HAND, /* at the request of a person at a terminal */
	CAUSE_IDLE,
	CAUSE_LIFETIME,
	CAUSE_LEASE,
	CAUSE_OOM,     /* the OOM killer chose PID 1 */
	CAUSE_EXITED,  /* the container's process ended */
	CAUSE_REMOVED, /* another program removed the container */
	CAUSE_ENGINE_RESTARTED,
	CAUSE_UNWATCHED, /* the session died while no server was attached */
	CAUSE_TAKEN_OVER,
	CAUSE_DISK,	     /* the session exceeded its disk limit */
	CAUSE_KERNEL_FAILED, /* the kernel did not start */
	CAUSE_PROTOCOL,	     /* PID 1 violated the protocol */
	CAUSE_HALF_MADE,     /* the session's server ended during the start */
	CAUSE_NODE,	     /* the cluster ended the session: its node was lost, drained or short of something */

	/* --- requests that were refused --- */
	CAUSE_NO_SESSION,
	CAUSE_OTHER_CONVERSATION,
	CAUSE_OTHER_SERVER, /* another live server owns the session */
	CAUSE_OTHER_ENGINE, /* the session runs on an engine that this server does not use */
	CAUSE_STARTING,
	CAUSE_ADOPTING,
	CAUSE_QUEUE_FULL,
	CAUSE_TOO_LONG, /* code or command */
	CAUSE_RECONNECTING,
	CAUSE_LIMIT_SESSIONS,
	CAUSE_LIMIT_CONVERSATION_SESSIONS,
	CAUSE_LIMIT_CONVERSATIONS,
	CAUSE_LIMIT_TENANT, /* sessions, memory, streams or exports of a tenant */
	CAUSE_TOO_MUCH,	    /* memory, CPUs or disk beyond the operator's limit */
	CAUSE_TOO_LITTLE,
	CAUSE_USER_TAKEN,  /* another session has the same user; the registry then tries another name */
	CAUSE_NOT_LISTED,  /* the operator does not offer this image */
	CAUSE_UNFIT,	   /* the image lacks something that sessions need */
	CAUSE_NETWORK_OFF, /* switched off by the operator */
	CAUSE_ENV_NAME,
	CAUSE_ENV_SIZE,
	CAUSE_NO_DIRECTORY, /* the directory to start in does not exist */
	CAUSE_NO_BRANCH,    /* the branch that a run names cannot be made, or has ended */
	CAUSE_NOT_PROVEN,   /* the session failed its probe, or the probe could not be run */
	CAUSE_NO_FENCE,	    /* the firewall rules cannot be set, and the network is refused without them */
	CAUSE_NO_RUN,
	CAUSE_RUN_TOLD,	       /* the run has ended, and its result was delivered */
	CAUSE_RUN_WAITED,      /* another request waits for the run */
	CAUSE_RUN_FOREIGN,     /* another client of the session started the run */
	CAUSE_NOT_INTERACTIVE, /* the run was not started as interactive */
	CAUSE_NO_PROMPT,       /* the run is interactive but does not wait for input now */
	CAUSE_INPUT_SIZE,
	CAUSE_OLD_SESSION,	/* the session's PID 1 is from an older Husk and does not support the request */
	CAUSE_INTERPRETER_BUSY, /* the interpreter answers queries only while it is idle */
	CAUSE_CANNOT_ANSWER,	/* the interpreter does not support the query, or its answer is unusable */
	CAUSE_PORT_REFUSED,	/* no server of the session accepts connections on this port */
	CAUSE_GATE_DENIED,	/* no rule of the session's network names this host and port */
	CAUSE_GATE_LIMIT,	/* too many connections of a session at once, or in a second */
	CAUSE_GATE_MISMATCH,	/* a connection asked for another host than the one that was dialled */
	CAUSE_HOST_PRIVATE,	/* the addresses of a host are not public ones */
	CAUSE_HOST_NOT_FOUND,	/* there is no host of this name */
	CAUSE_HOST_REFUSED,	/* a host refuses connections, or cannot be reached */
	CAUSE_HOST_TIMEOUT,	/* a host, or the resolver, did not answer in time */
	CAUSE_GATE_TLS,		/* the session's TLS cannot be terminated, as a secret requires */
	CAUSE_GATE_UPSTREAM,	/* the certificate of a secret's host is not valid */
	CAUSE_GATE_HTTP,	/* a request to a secret's host, or its answer, is not allowed */
	CAUSE_NO_TASK,
	CAUSE_TASK_EXPIRED,

	/* --- a run without its end --- */
	CAUSE_NO_ANSWER, /* the container sends nothing */
	CAUSE_NO_END,	 /* the container answers, but the run's end never arrived */

	/* --- installs --- */
	CAUSE_INSTALL_FAILED,
	CAUSE_INSTALL_TIME,
	CAUSE_INSTALL_MEMORY,
	CAUSE_INSTALL_SIZE,
	CAUSE_INSTALL_LOST,
	CAUSE_INSTALL_INDEX, /* the package index is unreachable or refuses the request */

	/* --- files --- */
	CAUSE_STREAM_BROKE, /* the connection to the session broke */
	CAUSE_STALLED,	    /* the container stopped accepting or sending data */
	CAUSE_NOT_EXPORTED,
	CAUSE_FOLDER_TOO_LARGE, /* the folder of a program, which is copied with it */
	CAUSE_PATH_DENIED,	/* a host path outside the allowed folders */
	CAUSE_NO_FILE,		/* no file or directory of this name in the session; this and the next ones */
	CAUSE_PATH_OUTSIDE,	/* the path is not below a directory that the session may write to */
	CAUSE_NOT_DIRECTORY,	/* it is not a directory, or leads through something that is not one */
	CAUSE_IS_DIRECTORY,
	CAUSE_NOT_FILE, /* it is neither a file nor a directory */
	CAUSE_FILE_EXISTS,
	CAUSE_NOT_EMPTY,    /* a directory that is not empty is only deleted on request */
	CAUSE_FILE_CHANGED, /* it is not the expected version, or changed while it was read */
	CAUSE_FILE_DENIED,  /* its permissions do not allow it, or it always exists */
	CAUSE_NO_ROOM,
	CAUSE_FILE_LIMIT, /* a directory has more names than one request can examine */

	/* --- attaching to another process --- */
	CAUSE_NO_SERVER,     /* the connection was lost */
	CAUSE_ATTACH_OFF,    /* the process accepts no clients */
	CAUSE_SERVER_SILENT, /* the process does not answer */
	CAUSE_OTHER_VERSION, /* the process violated the protocol; it may be of another version */

	CAUSE_COUNT,
};

/* "no_engine", …: stable, as stored and shown. */
const char *cause_name(enum cause cause);
/* CAUSE_NONE for an unknown name. */
enum cause cause_find(const char *name);

/* Sets kind, cause and message; returns -1 like fail_set(). */
int cause_set(struct fail *f, enum fail_kind kind, enum cause cause, const char *fmt, ...) PRINTF_LIKE(4, 5);
enum cause cause_of(const struct fail *f);
/* Reports that there is no such session. All code uses this function for it. */
int cause_no_session(struct fail *f, const char *id);

#endif
