/* Keeps the fence around sessions with the network on: rules of the engine's machine, set at the first need, looked at again with every
 * round of gc. Whoever runs code with the network waits here first. */
#ifndef HUSK_MANAGER_FENCE_FENCE_H
#define HUSK_MANAGER_FENCE_FENCE_H

#include "base/list.h"
#include "manager/engine/engine.h"
#include "manager/model/config.h"

struct fence;

struct fence_options {
	struct loop *loop;
	struct engine *engine;
	const struct config *config;
	const char *owner;	 /* this server */
	const struct strv *urls; /* of indexes: lists of them, separated by blanks; copied */
};

/* All but urls must outlive it. Contacts nothing. */
struct fence *fence_new(const struct fence_options *options);
/* Waits that are left must be gone. Accepts NULL, returns NULL. */
struct fence *fence_free(struct fence *f);

/* A session may be asked for soon: the rules are set beforehand. A failure is forgotten, so that the session finds out for itself. */
void fence_foresee(struct fence *f);
/* Somebody will wait for it: it is looked at, unless that was done lately. */
void fence_prepare(struct fence *f);

struct fence_wait {
	struct list node;
	/* f: why there is no network to be had. From the loop, once. */
	void (*fn)(void *ctx, const struct fail *f);
	void *ctx;
};
/* True if code may run with the network now; else fn is told when it may, or why not. To give up: list_remove(&w->node). */
bool fence_pass(struct fence *f, struct fence_wait *w);

/* A round of gc: looks again, if anybody ever needed it or `needed` says that somebody does. */
void fence_tick(struct fence *f, bool needed);
/* What a session with the network has to be told: why there is no fence around it. NULL if there is one. */
const char *fence_note(const struct fence *f);

#endif
