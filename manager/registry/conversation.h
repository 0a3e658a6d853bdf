/* A conversation inside the manager: its id, which may have to be read from disk first, and its limits. Only
 * conversation_check() decides whether a session belongs to it. */
#ifndef HUSK_MANAGER_REGISTRY_CONVERSATION_H
#define HUSK_MANAGER_REGISTRY_CONVERSATION_H

#include "manager/registry/registry.h"

/* A wait for a conversation's id, embedded in its owner. Initialise with list_init(&node). */
struct conversation_wait {
	struct list node;
	bool make;
	/* Called once, from the loop. id is NULL if there is none yet and make was not set. */
	void (*fn)(void *ctx, const char *id);
	void *ctx;
};

struct conversation {
	struct list node;
	struct registry *registry;
	char *id; /* NULL until it is known */
	uint64_t max_sessions;
	struct list waits;
	struct work *work;
	bool awake;
	struct conversation_wait warm; /* for the files that the warm pool needs */
	struct task_handler tasks;     /* its functions are NULL if the face has no tasks */
	void (*on_session)(void *ctx); /* a session has joined the conversation; may be NULL */
	void *on_session_ctx;
};

/* Finds the conversation's id and calls the wait. make: also creates the id if there is none, and takes this server's
 * lock, before anything exists that other servers could see. A wait that is unlinked is not called. */
void conversation_prepare(struct conversation *c, struct conversation_wait *wait);
/* True if conversation_prepare() with make would not have to wait. */
bool conversation_is_prepared(const struct conversation *c);

/* 0 if `owner`, the conversation id of a session, is this conversation; else -1 with f. */
int conversation_check(const struct conversation *c, const char *owner, const char *session, struct fail *f);

/* Adds the conversation to the registry's list. */
struct conversation *conversation_new(struct registry *r, const struct conversation_spec *spec);
/* Drops its waits. Nothing else may refer to it any more. */
void conversation_free(struct conversation *c);

#endif
