/* Keeps the firewall rules around sessions with the network in place. They are set on the engine's machine when
 * they are first needed, and checked with every round of gc. Code that uses the network waits here before it runs. */
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
	const char *owner;	 /* the id of this server */
	const struct strv *urls; /* of package indexes: lists separated by blanks; copied */
};

/* All options but urls must outlive it. Does not contact the engine. */
struct fence *fence_new(const struct fence_options *options);
/* There must be no waits left. Accepts NULL, returns NULL. */
struct fence *fence_free(struct fence *f);

/* Sets the rules in advance for a session that may be created soon. A failure is forgotten, so that the session
 * tries again. */
void fence_foresee(struct fence *f);
/* Starts a check for a wait that will follow, unless there was one recently. */
void fence_prepare(struct fence *f);

struct fence_wait {
	struct list node;
	/* f says why the network is not available. Called once, from the loop. */
	void (*fn)(void *ctx, const struct fail *f);
	void *ctx;
};
/* True if code may use the network now. Otherwise fn is called when it may, or with the reason why not. To give
 * up: list_remove(&w->node). */
bool fence_pass(struct fence *f, struct fence_wait *w);

/* A round of gc: checks again, if the rules were ever needed or `needed` is set. */
void fence_tick(struct fence *f, bool needed);
/* The note for a session with the network that has no rules around it. NULL if the rules are set. */
const char *fence_note(const struct fence *f);

#endif
