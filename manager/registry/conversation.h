/* A conversation inside the manager: its id, which may have to be read from disk first, and its limits. Only
 * conversation_check() decides whether a session belongs to it. */
#ifndef HUSK_MANAGER_REGISTRY_CONVERSATION_H
#define HUSK_MANAGER_REGISTRY_CONVERSATION_H

#include "manager/registry/registry.h"

/* The face of a task whose handler names none. */
#define FACE_MCP "mcp"

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
	struct task_handler *tasks;    /* one for each face */
	size_t n_tasks;
	struct list watches; /* of struct conversation_watch */
};

struct conversation_watch {
	struct list node;
	void (*fn)(void *ctx);
	void *ctx;
};

/* The handler of this face's tasks; NULL if there is none, or if it has no functions. */
const struct task_handler *conversation_tasks(const struct conversation *c, const char *face);

/* Finds the conversation's id and calls the wait. make: also creates the id if there is none, and takes this server's
 * lock, before anything exists that other servers could see. A wait that is unlinked is not called. */
void conversation_prepare(struct conversation *c, struct conversation_wait *wait);
/* True if conversation_prepare() with make would not have to wait. */
bool conversation_is_prepared(const struct conversation *c);

/* 0 if `owner`, the conversation id of a session, is this conversation; else -1 with f. */
int conversation_check(const struct conversation *c, const char *owner, const char *session, struct fail *f);

/* Drops its waits. Nothing else may refer to it any more. */
void conversation_free(struct conversation *c);

#endif
