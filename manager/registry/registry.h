/* A manager's sessions, conversations and operations. Only data and lookups are here; the other files of this folder
 * act on them. */
#ifndef HUSK_MANAGER_REGISTRY_REGISTRY_H
#define HUSK_MANAGER_REGISTRY_REGISTRY_H

#include "base/list.h"
#include "manager/deps/deps.h"
#include "manager/deps/fitting.h"
#include "manager/engine/engine.h"
#include "manager/fence/fence.h"
#include "manager/manager.h"
#include "manager/registry/metrics.h"
#include "manager/registry/owner.h"
#include "manager/session/session.h"
#include "manager/store/store.h"

struct keeper;
struct adoptions;
struct warm;
struct answer_budget;
struct known_keys;
struct stream_slots;
struct journals;
struct journal;
struct op;
struct rows;
struct rows_load;
struct secret_values;
struct session_secrets;

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
	struct journals *journals;
	struct secret_values *values;  /* the values of secrets (secret-values.h) */
	struct known_keys *keys;       /* keys that were checked lately; NULL = none */
	struct answer_budget *answers; /* NULL = nothing was counted yet */
	struct stream_slots *streams;
	struct metrics metrics;
	char *signing_key;  /* NULL = not loaded yet */
	uint64_t active_ms; /* when an operation last began or ended */
	struct owner self;
	struct list entries;	   /* list of struct session_entry, oldest first */
	struct list conversations; /* of struct conversation */
	struct list ops;	   /* of struct op */
	struct list tasks;	   /* of struct task */
	bool leaves_nothing;
};

/* The object that faces hold. */
struct manager {
	struct registry registry;
};

/* A session in the registry. */
struct gate;
struct session_entry {
	struct list node;
	struct registry *registry;
	struct session *session;
	char *conversation;    /* id of the conversation that it belongs to; "" while it is warm */
	char warm[TOKEN_SIZE]; /* id of its row in the store while it is warm; else "" */
	bool reserved;	       /* a create is about to take it */
	void (*on_warm)(struct session_entry *entry); /* the warm container is up or gone */
	bool adopted;				      /* another server started it */
	char *labels;				      /* JSON object of texts; NULL = none */
	char *name;				      /* given by its conversation; NULL = none */
	char *rules;				      /* of its gate (rules_to_text()); NULL = it has none */
	char *secrets;				      /* names, separated by spaces; NULL = none */
	struct gate *gate;
	struct session_secrets *own_secrets; /* NULL = it has no secrets */
	char *versions;			     /* versions of its packages, as JSON; NULL = none or unknown */
	struct journal *journal;	     /* NULL while it is warm or not started */
	struct usage *usage;		     /* NULL = nobody has asked for its state yet */
	struct store_job *renewal;
	struct store_job *explanation; /* reads the cause of its death */
};

/* The session with this id, including one that is being stopped, but not one that another server has taken over.
 * NULL if there is none. */
struct session_entry *registry_find(struct registry *r, const char *id);
/* Finds a session of the conversation by id, beginning of an id or name (handle.h); also a session of another
 * conversation by its full id. -1 with f if several match; *ret is NULL if there is none. */
int registry_resolve(struct registry *r, const char *conversation, const char *word, struct session_entry **ret,
		     struct fail *f);
/* Number of sessions that are not dead. */
size_t registry_live(const struct registry *r);
struct session_info session_entry_info(const struct session_entry *entry);
/* Sentences for the answer of a run: connections that the gate refused since the last one, and the time that is left if
 * it is little. NULL = none. The caller owns them. */
char *session_entry_notice(struct session_entry *entry);
/* Wipes the key that signs links. */
void signing_key_free(struct registry *r);
/* Cancels its store jobs and frees it. Does not touch the container. */
void session_entry_free(struct session_entry *entry);

/* --- operations -------------------------------------------------------------------------------------------------- */
/* One kind of operation. Each kind embeds `struct op` in its own struct. */
struct op_type {
	/* Starts the work, since the session can be used now. -1 with f: op_fail() follows. */
	int (*start)(struct op *op, struct fail *f);
	/* The session was found but is not ready yet. NULL = the operation waits for start(). */
	void (*found)(struct op *op);
	/* The session died before it could be used. True: the operation waits for another session. False, or no
	 * such function: fail() follows. */
	bool (*dead)(struct op *op, const struct fail *f);
	/* The session was stopped, or f says why it could not be stopped. NULL = fail() with "no such session". */
	void (*stopped)(struct op *op, const struct fail *f);
	/* A round of gc is over. May be NULL. */
	void (*swept)(struct op *op);
	/* A search for sessions of ended servers is over. May be NULL. */
	void (*adopted)(struct op *op);
	/* The rows of all sessions, after op_load_rows(); valid during the call. */
	void (*rows)(struct op *op, const struct rows *rows);
	/* Tells the caller that the operation failed. Each operation is answered once. */
	void (*fail)(struct op *op, const struct fail *f);
	/* Interrupts what the operation has started; the answer reports how that ended. NULL = it cannot be
	 * interrupted. */
	void (*interrupt)(struct op *op);
	/* The caller no longer wants the answer: interrupts the work. May be NULL. */
	void (*cancel)(struct op *op);
	/* Frees the operation and all that it holds. Work in progress is dropped without a callback. */
	void (*free)(struct op *op);
};

struct op {
	struct list node;
	struct registry *registry;
	struct conversation *conversation; /* NULL = all conversations */
	const struct op_type *type;
	struct session_entry *entry; /* NULL until it is found, or if none is needed */
	char *wanted;		     /* the session that it waits for; NULL = it does not wait */
	struct timer *timer;	     /* ends the wait, or answers from the loop */
	struct rows_load *load;
};

void op_init(struct op *op, struct registry *r, struct conversation *c, const struct op_type *type);
/* Frees an operation that was answered or whose answer is no longer wanted. */
void op_end(struct op *op);
/* Answers the operation with a failure and frees it. */
void op_fail(struct op *op, const struct fail *f);
/* Calls fn from the loop, for an operation that can be answered at once. */
void op_soon(struct op *op, void (*fn)(void *ctx), void *ctx);
/* Reads the rows of all sessions, including ended ones. type->rows or type->fail follows. */
void op_load_rows(struct op *op);

/* Broadcast an event to all operations. Callbacks may change the lists. */
void ops_ready(struct session_entry *entry);
void ops_dead(struct session_entry *entry, const struct fail *f);
/* True if an operation had requested the stop. */
bool ops_stopped(struct session_entry *entry, const struct fail *f);
void ops_swept(struct registry *r);
void ops_adopted(struct registry *r);
/* Operations that look for this word now look for the id that it resolved to. */
void ops_rename(struct registry *r, const struct conversation *c, const char *word, const char *id);
/* A search of the conversation has ended: entry is the session, or f says why there is none. */
void ops_found(struct registry *r, struct conversation *c, const char *id, struct session_entry *entry,
	       const struct fail *f);

#endif
