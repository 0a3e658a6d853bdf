/* A run as a task: its caller got a handle, and can use it to fetch the result at any time, as often as it likes,
 * until the session's lifetime is over.
 *
 * While the run is active, the task waits for it. At its end the face writes the text of the result, which is stored
 * and only then acknowledged to PID 1. After that only the store has the result. If a server ends before that, PID 1
 * keeps the run and the store keeps the row, and the server that adopts the session continues to wait. */
#ifndef HUSK_MANAGER_REGISTRY_TASK_H
#define HUSK_MANAGER_REGISTRY_TASK_H

#include "manager/line/run.h"
#include "manager/registry/conversation.h"

struct task;

/* The run that is to become a task. */
struct task_spec {
	struct session_entry *entry;
	struct conversation *conversation;
	uint32_t number;
	enum run_kind kind;
	uint64_t timeout_seconds;
	uint64_t started; /* wall clock */
	const char *face; /* the face that words its result */
	/* Called once: the task is stored, or f says why it could not be stored, and the task is freed. */
	void (*on_made)(void *ctx, struct task *t, const struct fail *f);
	void *ctx;
};
struct task *task_make(const struct task_spec *spec);
/* Before on_made: drops the task, whose handle will not be delivered. */
void task_drop(struct task *t);
/* After on_made: the task replaces this waiter. */
void task_take(struct task *t, struct run_waiter *from);

/* A task of the conversation that is active, or whose end is not stored yet. NULL = not here; the store may have the
 * task. */
struct task *task_find(struct conversation *c, const char *id);
struct task_info task_info(const struct task *t);
struct task_info task_info_of_record(const struct task_record *row);
/* Interrupts the run and stores the cancel. fn is called once it is stored. Returns NULL without calling fn if the
 * task is not active. */
struct store_job *task_stop(struct task *t, store_done_fn fn, void *ctx);

/* --- with a session -------------------------------------------------------------------------------------------- */
/* Loads the stored tasks of a session that was taken over. tasks_ready() or tasks_dead() follows. */
void tasks_adopt(struct session_entry *entry, struct conversation *c, const struct task_list *rows);
/* Call it when PID 1 of the session has reported its runs. */
void tasks_ready(struct session_entry *entry);
/* Call it when the session has died and the waiters of its runs were called. */
void tasks_dead(struct session_entry *entry, const struct fail *f);
/* Call it before the session is freed. */
void tasks_leave(struct session_entry *entry);
/* Drops the tasks of a conversation, or of all if NULL, without a callback. */
void tasks_forget(struct registry *r, const struct conversation *c);

#endif
