/* The one loop of the process, and the private thread that runs it: all managers are on it, since the code below the faces is written
 * for one loop in one thread. It is there while somebody uses it. */
#ifndef HUSK_LIBHUSK_THREAD_H
#define HUSK_LIBHUSK_THREAD_H

#include "base/fail.h"
#include "base/list.h"
#include "base/loop.h"

/* Something to do on the loop. Belongs to whoever posts it, who keeps it until fn has begun. */
struct task {
	struct list node;
	void (*fn)(struct task *task);
};

/* One more user. -1 with f: no thread, no descriptors. */
int thread_acquire(struct fail *f);
/* The last one ends the thread and waits for that; never from the loop itself. */
void thread_release(void);
/* From any thread of a user. Tasks run in the order in which they were posted. */
void thread_post(struct task *task);
/* Runs fn on the loop and waits for it. */
void thread_do(void (*fn)(void *ctx), void *ctx);
/* For what runs on it. */
struct loop *thread_loop(void);

/* Another number in each child of a fork, where the thread is not: what was made under another number cannot be used. */
unsigned thread_generation(void);
/* Guards what all threads share; held across a fork. For a moment only: nothing is waited for under it. */
void thread_lock(void);
void thread_unlock(void);

#endif
