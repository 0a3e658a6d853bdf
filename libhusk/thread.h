/* The loop of the process and the private thread that runs it. All managers share the thread, because the code below
 * the faces is written for one loop in one thread. The thread exists while it has users. */
#ifndef HUSK_LIBHUSK_THREAD_H
#define HUSK_LIBHUSK_THREAD_H

#include "base/fail.h"
#include "base/list.h"
#include "base/loop.h"

/* A task for the loop. The caller of thread_post() owns it and keeps it until fn has begun. */
struct task {
	struct list node;
	void (*fn)(struct task *task);
};

/* Adds a user. Returns -1 and sets f if there is no thread or no descriptor left. */
int thread_acquire(struct fail *f);
/* Removes a user. The last one ends the thread and waits for that. Must not be called on the loop. */
void thread_release(void);
/* May be called from any thread, while there is a user. Tasks run in the order of posting. */
void thread_post(struct task *task);
/* Runs fn on the loop and waits for it. */
void thread_do(void (*fn)(void *ctx), void *ctx);
/* The loop, for code that runs on it. */
struct loop *thread_loop(void);

/* A number that differs in each child of a fork, where the thread does not exist. Objects that were created under
 * another number cannot be used. */
unsigned thread_generation(void);
/* A lock for data that all threads share, held across a fork. Hold it only briefly, and never wait meanwhile. */
void thread_lock(void);
void thread_unlock(void);

#endif
