/* A conversation inside the manager: its id, which may have to be read from disk first, its limits, and the one place that
 * decides whether a session is its own. */
#ifndef HUSK_MANAGER_REGISTRY_CONVERSATION_H
#define HUSK_MANAGER_REGISTRY_CONVERSATION_H

#include "manager/registry/registry.h"

/* Whoever waits for a conversation, embedded in its owner. Initialise with list_init(&node). */
struct conversation_wait {
	struct list node;
	bool make;
	/* Once, from the loop. id NULL: there is none yet, and none was to be made. */
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
	struct conversation_wait warm; /* the pool's */
	struct task_handler tasks;     /* without functions: it has none */
	void (*on_session)(void *ctx); /* a session has become its own; may be NULL */
	void *on_session_ctx;
};

/* Finds out the id. make: there is to be one, and this server is to be known as an owner, before anything that others could see
 * is made. A wait that is unlinked is not called. */
void conversation_prepare(struct conversation *c, struct conversation_wait *wait);
/* True if nothing has to be waited for. */
bool conversation_is_prepared(const struct conversation *c);

/* 0 if a session of this thread is the conversation's own; else -1 and f. */
int conversation_check(const struct conversation *c, const char *thread, const char *session, struct fail *f);

/* In the registry's list from now on. */
struct conversation *conversation_new(struct registry *r, const struct conversation_spec *spec);
/* Nothing but waits, which are dropped, may refer to it by now. */
void conversation_free(struct conversation *c);

#endif
