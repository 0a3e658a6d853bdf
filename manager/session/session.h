/* A session: a container, the line to its PID 1, and a state. It uses only the engine and the line; the registry knows
 * which conversation owns the session.
 *
 * The container has its own name and may be started before it is claimed. A claim tells PID 1 which session it
 * serves. A broken line is reconnected. A session ends only if its container is gone or its line cannot be
 * reconnected. */
#ifndef HUSK_MANAGER_SESSION_SESSION_H
#define HUSK_MANAGER_SESSION_SESSION_H

#include "manager/engine/engine.h"
#include "manager/line/dispatch.h"
#include "manager/model/limits.h"
#include "manager/model/runtime.h"
#include "manager/model/state.h"

struct session;

/* The cause of a death while no server was connected. */
#define SESSION_UNWATCHED "died while no server was attached"

/* Events of a session for its owner. The session may be freed from inside on_stopped, but not from inside the
 * others. */
struct session_handler {
	/* The session is ready, or warm: session_state() says which. */
	void (*on_ready)(void *ctx, struct session *s);
	/* The container did not start, or is gone; session_death() says why. */
	void (*on_dead)(void *ctx, struct session *s);
	void (*on_stopped)(void *ctx, struct session *s, const struct fail *f);
	/* The container was killed or removed, and the session does not know by whom. The owner returns true if it
	 * will look up the cause and then call session_end_explained(). If that takes too long, the session dies
	 * with the cause that it knows. May be NULL. */
	bool (*on_unexplained)(void *ctx, struct session *s);
	void *ctx;
};

/* Strings are copied. loop, engine and config must outlive the session. */
struct session_spec {
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	const struct runtime *runtime;
	const char *image;
	const char *container; /* container name of a new session */
	bool network;
	struct limits limits;
	struct session_handler handler;
};

/* Does not contact the engine before session_start(). */
struct session *session_new(const struct session_spec *spec);
/* The user id under which code runs in the container with this name. */
#define SESSION_USERS (SESSION_UID_MAX - SESSION_UID_MIN + 1)
unsigned session_uid(const char *container);

/* A session's own terms, which are sent to PID 1 with the claim and not stored. */
struct session_terms {
	const struct strv *env; /* NAME=value; NULL = none */
	const char *cwd;	/* working directory of its processes; NULL = /workspace */
	const char *authority;	/* PEM: certificates that its programs trust too; NULL = none */
};
struct session_start {
	const char *store, *owner; /* for the container's labels */
	const struct strv *env;	   /* NAME=value, the same for every session of the runtime; never a secret */
	bool gated;		   /* it will have a gate */
	bool unclaimed;		   /* start it warm; its terms come with the claim */
	bool reaches_hosts;	   /* its programs need certificates */
	struct session_terms terms;
};
/* on_ready or on_dead follows. */
void session_start(struct session *s, const struct session_start *start);
/* Turns a warm container into a session whose age begins now. on_ready or on_dead follows. */
void session_claim(struct session *s, const struct session_terms *terms);

/* The stored record of a session whose server has ended. */
struct session_past {
	const char *id;
	const char *container;
	const char *store, *mark; /* labels that its container must have; mark NULL = it must have none */
	bool sealed;		  /* the record has a valid seal, so its container and mark can be trusted */
	uint64_t epoch;		  /* the session's epoch from now on */
	uint64_t age_ms, idle_ms;
};
/* Attaches to the existing container, if its labels match. on_ready or on_dead follows within the session's lease. A
 * container of another session is not touched. */
struct session *session_adopt(const struct session_spec *spec, const struct session_past *past);
/* Frees the session. Its container is removed only if its create is still under way. Callbacks of runs are not called.
 * Accepts NULL, returns NULL. */
struct session *session_free(struct session *s);

/* Removes the container. Active runs end with CAUSE_STOPPED. on_stopped follows. A session that is being adopted is
 * stopped once its container is known to belong to it. */
void session_stop(struct session *s);
/* If its container could not be removed, call this from inside on_stopped instead of freeing the session. The session
 * can then be stopped again. */
void session_keep_dead(struct session *s, const struct fail *why);
/* Ends the session as if it had died of this cause. */
void session_end(struct session *s, const struct fail *cause);
/* The owner's answer to on_unexplained. cause NULL = the owner cannot explain the death either. */
void session_end_explained(struct session *s, const struct fail *cause);
/* Another server has taken the session over. This server treats it as dead and does not touch its container. */
void session_lose(struct session *s);
/* Handles an event of the engine. */
void session_on_event(struct session *s, const struct engine_event *event);
/* The stream of engine events has ended. The engine may have been restarted, which a session that is connected by a
 * socket does not notice itself. */
void session_engine_away(struct session *s);

/* --- accessors --------------------------------------------------------------------------------------------------- */
const char *session_id(const struct session *s);
const char *session_container(const struct session *s);
/* The random label that identifies its container. */
const char *session_mark(const struct session *s);
/* The name or id by which its container can be removed without a check; NULL = the container is not known to belong
 * to this session. */
const char *session_removable(const struct session *s);
const char *session_image(const struct session *s);
const struct runtime *session_runtime(const struct session *s);
bool session_network(const struct session *s);
const struct limits *session_limits(const struct session *s);
uint64_t session_epoch(const struct session *s);
enum session_state session_state(const struct session *s);
/* The cause of its death; set once the session is dead. */
const struct fail *session_death(const struct session *s);
/* True if another server has taken the session over. */
bool session_is_lost(const struct session *s);
/* True if PID 1 is connected now. */
bool session_is_connected(const struct session *s);
/* True if a run of this server or of a former one is active. */
bool session_is_busy(const struct session *s);
/* True if the engine is creating or removing its container. */
bool session_is_changing(const struct session *s);
uint64_t session_age_ms(const struct session *s);
uint64_t session_idle_ms(const struct session *s); /* 0 while it is busy */
/* Time until its maximum lifetime ends; UINT64_MAX = no limit, or not known yet. */
uint64_t session_left_ms(const struct session *s);
/* A sentence for a result: the session will end soon. NULL while there is enough time. The caller owns it. */
char *session_notice(uint64_t left_ms, uint64_t lifetime_seconds, uint64_t idle_ttl_seconds);
/* The part of its line that starts runs and transfers. */
struct dispatch *session_dispatch(struct session *s);
/* How PID 1 is reached, as text for people. */
const char *session_transport(const struct session *s);

#endif
