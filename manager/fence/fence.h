/* Maintains the firewall rules around sessions that have the network. The rules are set on the engine's machine when
 * they are first needed, and checked in every round of gc. Code that may use the network does not run until they are
 * set. */
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
	const struct strv *urls; /* URLs of package indexes: lists separated by blanks; copied */
};

/* All options except urls must outlive the fence. Does not contact the engine. */
struct fence *fence_new(const struct fence_options *options);
/* There must be no waits left. Accepts NULL, returns NULL. */
struct fence *fence_free(struct fence *f);

/* Sets the rules in advance for a session that may be created soon. If that fails, nothing is recorded, and the
 * session tries again. */
void fence_foresee(struct fence *f);
/* Starts a check of the rules before fence_pass() is called, unless they were checked recently. */
void fence_prepare(struct fence *f);

struct fence_wait {
	struct list node;
	/* f says why the network is not available. Called once, from the loop. */
	void (*fn)(void *ctx, const struct fail *f);
	void *ctx;
};
/* True if code may use the network now. Otherwise fn is called once code may use it, or with the reason why not. To
 * cancel the wait: list_remove(&w->node). */
bool fence_pass(struct fence *f, struct fence_wait *w);

/* Call it in each round of gc. Checks the rules if they were ever needed or `needed` is set. */
void fence_tick(struct fence *f, bool needed);
/* The note for a session that has the network but no firewall rules. NULL if the rules are set. */
const char *fence_note(const struct fence *f);

#endif
