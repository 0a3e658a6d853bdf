/* What the files of the manager share: the registry, and the operations on it. */
#ifndef HUSK_MANAGER_MANAGER_PRIVATE_H
#define HUSK_MANAGER_MANAGER_PRIVATE_H

#include "base/list.h"
#include "manager/engine/engine.h"
#include "manager/manager.h"
#include "manager/session.h"
#include "manager/store/store.h"

struct manager {
	struct loop *loop;
	const struct config *config;
	struct engine *engine;
	struct store *store;
	struct engine_watch *watch;
	struct timer *watch_check;
	struct timer *gc; /* runs while there are sessions */
	struct list sessions;
	struct list ops;
	char owner[TOKEN_SIZE];
	char *thread; /* NULL until a session needs it */
};

/* The conversation that everything of this server belongs to; valid as long as the manager. */
const char *manager_thread(struct manager *m);

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

#endif
