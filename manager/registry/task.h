/* A run as a task: its caller was given a handle, and asks for the answer when it likes, as often as it likes, until the session's
 * lifetime is over.
 *
 * While it works, the task is who waits for the run. Its end is worded by the face, written down, and only then acknowledged to PID 1;
 * after that the store alone has it. A server that ends in between leaves the run to PID 1 and the row to the store: whoever adopts the
 * session goes on waiting. */
#ifndef HUSK_MANAGER_REGISTRY_TASK_H
#define HUSK_MANAGER_REGISTRY_TASK_H

#include "manager/line/run.h"
#include "manager/registry/conversation.h"

struct task;

/* The run that is to become one. */
struct task_spec {
	struct member *member;
	struct conversation *conversation;
	uint32_t number;
	enum run_kind kind;
	uint64_t timeout_seconds;
	uint64_t started; /* wall clock */
	/* Once: it is on disk, or f says why it is not, and the task is gone. */
	void (*on_made)(void *ctx, struct task *t, const struct fail *f);
	void *ctx;
};
struct task *task_make(const struct task_spec *spec);
/* Before on_made: nobody is to get the handle. */
void task_drop(struct task *t);
/* After on_made: the task waits in the place of this one. */
void task_take(struct task *t, struct run_waiter *from);

/* One of the conversation's own that works, or whose end is not written down yet. NULL: the store may know more. */
struct task *task_find(struct conversation *c, const char *id);
struct task_info task_info(const struct task *t);
struct task_info task_info_of_record(const struct task_record *row);
/* Interrupts the run and stores the cancel; fn is called once it is stored. NULL without a call of fn if the task does not work. */
struct store_job *task_stop(struct task *t, store_done_fn fn, void *ctx);

/* --- with a session -------------------------------------------------------------------------------------------- */
/* What the store knows of a session that was taken over. tasks_ready() or tasks_dead() follows. */
void tasks_adopt(struct member *m, struct conversation *c, const struct task_list *rows);
/* Its PID 1 has said which runs there are. */
void tasks_ready(struct member *m);
/* It has died, and whoever waited has been told. */
void tasks_dead(struct member *m, const struct fail *f);
/* It is forgotten. */
void tasks_leave(struct member *m);
/* Drops those of a conversation, silently; NULL = of all. */
void tasks_forget(struct registry *r, const struct conversation *c);

#endif
