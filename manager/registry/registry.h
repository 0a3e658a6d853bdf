/* What a manager has: sessions, conversations and the operations under way. Data and lookups; what happens to them is in the
 * files above. */
#ifndef HUSK_MANAGER_REGISTRY_REGISTRY_H
#define HUSK_MANAGER_REGISTRY_REGISTRY_H

#include "base/list.h"
#include "manager/deps/deps.h"
#include "manager/deps/fitting.h"
#include "manager/engine/engine.h"
#include "manager/fence/fence.h"
#include "manager/manager.h"
#include "manager/registry/owner.h"
#include "manager/session/session.h"
#include "manager/store/store.h"

struct keeper;
struct adoptions;
struct warm;
struct op;

struct registry {
	struct loop *loop;
	const struct config *config;
	struct engine *engine;
	struct store *store;
	struct fence *fence;
	struct deps *deps;
	struct fitting *fitting;
	struct keeper *keeper;
	struct adoptions *adoptions;
	struct warm *warm;
	uint64_t active_ms; /* when an operation last began or ended */
	struct owner self;
	struct list members;	   /* of struct member, oldest first */
	struct list conversations; /* of struct conversation */
	struct list ops;	   /* of struct op */
	struct list tasks;	   /* of struct task */
	bool leaves_nothing;
};

/* What a face holds. Operations of a conversation reach the registry through it, the others from here. */
struct manager {
	struct registry registry;
};

/* A session as the registry has it. */
struct member {
	struct list node;
	struct registry *registry;
	struct session *session;
	char *thread;			   /* the conversation that it belongs to; "" while it is nobody's */
	char warm[TOKEN_SIZE];		   /* while it is nobody's: its row in the store; else "" */
	bool reserved;			   /* a create is about to take it */
	void (*on_warm)(struct member *m); /* of a warm one: it is up, or gone */
	bool adopted;			   /* another server started it */
	char *name;			   /* what its conversation calls it; NULL = nothing */
	char *versions;			   /* of the packages it was made with: JSON; NULL = none, or not known */
	struct store_job *renewal;
	struct store_job *explanation; /* of its death */
};

/* The session with this id, also one that is being stopped; not one that another server has taken over. NULL if there is none. */
struct member *registry_find(struct registry *r, const char *id);
/* The same by what a conversation calls it (handle.h), among its own; also one of another conversation, by its whole id. -1 with f if
 * several match; *ret is NULL if there is none. */
int registry_resolve(struct registry *r, const char *thread, const char *word, struct member **ret, struct fail *f);
/* How many are not dead. */
size_t registry_live(const struct registry *r);
struct session_info member_info(const struct member *m);
/* Unhooks it from the store's jobs and frees it, without a word to the engine. */
void member_free(struct member *m);

/* --- operations -------------------------------------------------------------------------------------------------- */
/* One kind of operation. What it embeds `struct op` in is its own. */
struct op_type {
	/* Its session is there and can be used. -1 with f: op_fail() follows. */
	int (*start)(struct op *op, struct fail *f);
	/* Its session was found, and is not up yet. NULL = it waits for start. */
	void (*found)(struct op *op);
	/* Its session died before it could be used. True: it waits for another one. NULL = fail(). */
	bool (*dead)(struct op *op, const struct fail *f);
	/* Its session was stopped; f: why it could not be. NULL = fail() with "no such session". */
	void (*stopped)(struct op *op, const struct fail *f);
	/* A round of gc is over. May be NULL. */
	void (*swept)(struct op *op);
	/* A search for sessions of ended servers is over. May be NULL. */
	void (*adopted)(struct op *op);
	/* The one answer, if it is that nothing could be done. */
	void (*fail)(struct op *op, const struct fail *f);
	/* What it has begun is to end; the answer says how. NULL = it goes on. */
	void (*interrupt)(struct op *op);
	/* Nobody wants the answer any more: what is under way is interrupted. May be NULL. */
	void (*cancel)(struct op *op);
	/* Releases all that it holds, itself included; what is under way is dropped silently. */
	void (*free)(struct op *op);
};

struct op {
	struct list node;
	struct registry *registry;
	struct conversation *conversation; /* NULL = of all */
	const struct op_type *type;
	struct member *member; /* NULL until it is found, or if it needs none */
	char *wanted;	       /* the session that it waits for; NULL = it does not */
	struct timer *patience;
};

void op_init(struct op *op, struct registry *r, struct conversation *c, const struct op_type *type);
/* It was answered. */
void op_end(struct op *op);
/* Answers it with a failure and ends it. */
void op_fail(struct op *op, const struct fail *f);

/* What concerns operations, to all of them. Callbacks may change the lists. */
void ops_ready(struct member *m);
void ops_dead(struct member *m, const struct fail *f);
/* True if anybody had asked for it. */
bool ops_stopped(struct member *m, const struct fail *f);
void ops_swept(struct registry *r);
void ops_adopted(struct registry *r);
/* Those that look for a word look for the id that it means. */
void ops_rename(struct registry *r, const struct conversation *c, const char *word, const char *id);
/* The end of a conversation's search: the session, or why there is none. */
void ops_found(struct registry *r, struct conversation *c, const char *id, struct member *m, const struct fail *f);

#endif
