/* What the files of the manager share: the registry, and the operations on it. */
#ifndef HUSK_MANAGER_REGISTRY_MANAGER_PRIVATE_H
#define HUSK_MANAGER_REGISTRY_MANAGER_PRIVATE_H

#include "base/list.h"
#include "manager/engine/engine.h"
#include "manager/manager.h"
#include "manager/registry/owner.h"
#include "manager/session/session.h"
#include "manager/store/store.h"

struct gc;

struct manager {
	struct loop *loop;
	const struct config *config;
	struct engine *engine;
	struct store *store;
	struct deps *deps;
	struct engine_watch *watch;
	struct timer *watch_check;
	struct timer *gc_timer, *renew_timer; /* run while there are sessions */
	struct gc *gc;			      /* a round under way */
	struct list sessions;
	struct list ops;
	struct list adoptions;	/* adopt.c: sessions that are being looked for or taken over */
	struct store_job *scan; /* adopt.c: for sessions of this thread that nobody has */
	bool awake;
	bool leaves_nothing;
	struct owner self;
	char *thread;			      /* NULL until a session needs it */
	const struct session_list *elsewhere; /* during a callback: sessions of this thread, of all servers */
};

/* The conversation that everything of this server belongs to; valid as long as the manager. */
const char *manager_thread(struct manager *m);
/* The session as this server has it; NULL if it has none, or another server has taken it over. */
struct session *manager_session(struct manager *m, const char *id);
/* A session that adopt.c has taken over joins the registry. */
struct session *manager_take_in(struct manager *m, const struct session_record *row);
/* The end of a search by adopt.c: the session, or why there is none. */
void manager_found(struct manager *m, const char *id, struct session *s, const struct fail *f);
/* A round of gc is over: creates that were refused try again. */
void manager_swept(struct manager *m);
/* Unhooks it from the store's jobs and frees it. */
void manager_drop(struct manager *m, struct session *s);

/* --- ops that other files bring ------------------------------------------------------------------------------------ */
struct task_ops {
	/* The session is there and runs. */
	int (*start)(void *ctx, struct session *s, struct fail *f);
	/* It never came: the one answer. */
	void (*fail)(void *ctx, const struct fail *f);
	/* The op goes away: stop what is under way, without a word, and free ctx. */
	void (*free)(void *ctx);
};
/* session_id NULL = it needs none: start and fail are not called. NULL with f filled, and ctx freed, if there is no such session. */
struct op *op_task(struct manager *m, const char *session_id, const struct task_ops *ops, void *ctx, struct fail *f);
/* It was answered. */
void op_end(struct op *op);

/* --- keeper.c: what is done for the sessions beside the calls -------------------------------------------------------- */
void keeper_init(struct manager *m);
/* The server ends: sessions are left to their lease, for the next one to adopt; what nobody could use is told to go. True if any stays. */
bool keeper_leave(struct manager *m);
void keeper_release(struct manager *m);
/* There is a session to care for. */
void keeper_start(struct manager *m);
/* Something has ended: see soon what is no longer needed. */
void keeper_check_soon(struct manager *m);
/* A round of gc; manager_swept() follows. */
void keeper_collect(struct manager *m);

/* --- ledger.c: what the store is told of our sessions --------------------------------------------------------------- */
struct store_job *ledger_claim(struct manager *m, const struct session *s, store_claim_fn fn, void *ctx);
/* It runs now. */
struct store_job *ledger_running(struct manager *m, const struct session *s, store_done_fn fn, void *ctx);
/* It still does. Fire and forget. */
void ledger_renew(struct manager *m, struct session *s);
/* It has ended. cause NULL = somebody stopped it. Fire and forget. */
void ledger_end(struct manager *m, const struct session *s, const char *cause);
/* What a server before this one had started, now that its end is known. `ended` is when we heard of it. */
void ledger_earlier_ended(struct manager *m, const struct session *s, const struct run_result *result);
/* The log of executions: begun when it was sent, ended with how and with how much output. */
void ledger_run_began(struct manager *m, const struct run *run, uint64_t started, uint64_t in_bytes);
void ledger_run_ended(struct manager *m, const struct run *run, uint64_t started, const char *ending,
		      uint64_t out_bytes);

/* --- adopt.c ----------------------------------------------------------------------------------------------------- */
/* In the background: takes over the sessions of this thread whose server is dead. Once. */
void adopt_all(struct manager *m);
/* Finds the session in the store, and takes it over if its server is dead; manager_found() follows, once for each id. */
void adopt_one(struct manager *m, const char *id);
void adopt_release(struct manager *m);

#endif
