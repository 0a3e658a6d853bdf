/* A session: a container, the line to its PID 1, and a life. Knows the engine and the line; who it belongs to is the
 * registry's business.
 *
 * The container has a name of its own and may be started before anybody claims it; PID 1 learns by a claim which session it
 * serves. A line that breaks is made again; only a container that is gone, or a line that cannot be made again, ends it. */
#ifndef HUSK_MANAGER_SESSION_SESSION_H
#define HUSK_MANAGER_SESSION_SESSION_H

#include "manager/engine/engine.h"
#include "manager/line/dispatch.h"
#include "manager/model/limits.h"
#include "manager/model/runtime.h"
#include "manager/model/state.h"

struct session;

/* The cause of a death that nobody was there to see. */
#define SESSION_UNWATCHED "died while no server was attached"

/* How a session reports to its owner. It may be freed from inside on_stopped, not from inside the others. */
struct session_handler {
	/* Or warm: session_state() says which. */
	void (*on_ready)(void *ctx, struct session *s);
	/* The container never came up, or is gone; session_death() says why. */
	void (*on_dead)(void *ctx, struct session *s);
	void (*on_stopped)(void *ctx, struct session *s, const struct fail *f);
	/* Its container was killed or removed, and it does not know by whom. True: the owner finds out and calls
	 * session_end_explained(); if that takes too long, the session dies of what is known. May be NULL. */
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
	const char *container; /* of a new session: its name */
	bool network;
	struct limits limits;
	struct session_handler handler;
};

/* Named, but not there yet: nothing is asked of the engine before session_start(). */
struct session *session_new(const struct session_spec *spec);
/* Who runs the code in the container of that name. */
#define SESSION_USERS (SESSION_UID_MAX - SESSION_UID_MIN + 1)
unsigned session_uid(const char *container);

struct session_start {
	const char *store, *owner;  /* for the container's labels */
	const struct strv *env;	    /* NAME=value, the same for every session of the runtime; never a secret */
	const struct strv *own_env; /* NAME=value, of this session; sent to PID 1 and kept nowhere. NULL = none */
	const char *cwd;	    /* where its processes start; NULL = /workspace */
	bool unclaimed;		    /* it is to be warm: nobody's yet. own_env and cwd come with the claim */
};
/* on_ready or on_dead follows. */
void session_start(struct session *s, const struct session_start *start);
/* One that is warm is somebody's from now on, and as old as this moment; on_ready or on_dead follows. Both may be NULL. */
void session_claim(struct session *s, const struct strv *own_env, const char *cwd);

/* What the store knows of a session whose server has ended. */
struct session_past {
	const char *id;
	const char *container;
	const char *store, *mark; /* the labels that its container must have; mark NULL = none of that kind */
	bool sealed;		  /* the store's key vouches for both names */
	uint64_t epoch;		  /* ours by now */
	uint64_t age_ms, idle_ms;
};
/* Attaches to the container that is there, if its labels agree; on_ready or on_dead follows, in the time of its lease. A container
 * that turns out to be another session's is left alone. */
struct session *session_adopt(const struct session_spec *spec, const struct session_past *past);
/* Drops everything without a word to the engine: runs are not answered. Accepts NULL, returns NULL. */
struct session *session_free(struct session *s);

/* Removes the container; what runs is answered with the cause. on_stopped follows. One that is being adopted is
 * stopped once its container is known to be its own. */
void session_stop(struct session *s);
/* From inside on_stopped, instead of freeing it: its container could not be removed; it can be stopped again. */
void session_keep_dead(struct session *s, const struct fail *why);
/* Ends it with a cause that the owner gives, as if it had died of it. */
void session_end(struct session *s, const struct fail *cause);
/* The answer to on_unexplained. cause NULL = the owner does not know it either. */
void session_end_explained(struct session *s, const struct fail *cause);
/* Another server has taken it over: gone for us, and its container is not touched. */
void session_lose(struct session *s);
/* An event of the engine's. */
void session_on_event(struct session *s, const struct engine_event *event);
/* Its events have ended: it may have been restarted, which a session over a socket does not notice by itself. */
void session_engine_away(struct session *s);

/* --- what it is -------------------------------------------------------------------------------------------------- */
const char *session_id(const struct session *s);
const char *session_container(const struct session *s);
/* Its container's label. */
const char *session_mark(const struct session *s);
/* The name or id by which its container may be removed without another look at it; NULL = it is not known to be its own. */
const char *session_removable(const struct session *s);
const char *session_image(const struct session *s);
const struct runtime *session_runtime(const struct session *s);
bool session_network(const struct session *s);
const struct limits *session_limits(const struct session *s);
uint64_t session_epoch(const struct session *s);
enum session_state session_state(const struct session *s);
/* Set once it is dead. */
const struct fail *session_death(const struct session *s);
/* Dead for us: another server has it, container and all. */
bool session_is_lost(const struct session *s);
/* PID 1 is connected now. */
bool session_is_connected(const struct session *s);
/* Something runs on it, of ours or of a former server. */
bool session_is_busy(const struct session *s);
/* The engine is at work on it. */
bool session_is_changing(const struct session *s);
uint64_t session_age_ms(const struct session *s);
uint64_t session_idle_ms(const struct session *s); /* 0 while it is busy */
/* Until its hard lifetime ends; UINT64_MAX = it has none, or it is not known yet. */
uint64_t session_left_ms(const struct session *s);
/* Where runs and transfers are made. */
struct dispatch *session_dispatch(struct session *s);
/* How PID 1 is reached, for people. */
const char *session_transport(const struct session *s);

#endif
