/* The loop of the process and the private thread that runs it. All managers share it, because the code below the
 * faces is written for one loop in one thread. The thread exists while it has users. */
#ifndef HUSK_LIBHUSK_THREAD_H
#define HUSK_LIBHUSK_THREAD_H

#include "base/fail.h"
#include "base/list.h"
#include "base/loop.h"

/* A task for the loop. The poster owns it and keeps it until fn has begun. */
struct task {
	struct list node;
	void (*fn)(struct task *task);
};

/* Adds a user. -1 with f: no thread or no descriptors. */
int thread_acquire(struct fail *f);
/* The last user ends the thread and waits for it; never call it from the loop. */
void thread_release(void);
/* From any thread of a user. Tasks run in the order of posting. */
void thread_post(struct task *task);
/* Runs fn on the loop and waits for it. */
void thread_do(void (*fn)(void *ctx), void *ctx);
/* For code that runs on the loop. */
struct loop *thread_loop(void);

/* Differs in each child of a fork, where the thread does not exist. Objects created under another number cannot be
 * used. */
unsigned thread_generation(void);
/* Guards data shared by all threads; held across a fork. Hold it only briefly, and never wait under it. */
void thread_lock(void);
void thread_unlock(void);

#endif
