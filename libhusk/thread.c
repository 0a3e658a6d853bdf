#include "libhusk/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* Time to finish the last manager's remaining work, such as closing a connection. */
#define DRAIN_MS 2000

static struct {
	pthread_mutex_t lock; /* guards the thread's start and end */
	pthread_mutex_t shared;
	pthread_once_t once;
	atomic_uint generation;
	size_t users;
	bool ending; /* a caller waits for the thread to end */
	pthread_cond_t ended;
	pthread_t thread;
	struct loop *loop;
	struct waker *waker;
	struct task end;
	/* Tasks that other threads have posted. */
	pthread_mutex_t tasks_lock;
	struct list tasks;
} the = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.shared = PTHREAD_MUTEX_INITIALIZER,
	.ended = PTHREAD_COND_INITIALIZER,
	.once = PTHREAD_ONCE_INIT,
	.generation = 1,
	.tasks_lock = PTHREAD_MUTEX_INITIALIZER,
	.tasks = { &the.tasks, &the.tasks },
};

/* --- fork -------------------------------------------------------------------------------------------------------- */

static void before_fork(void)
{
	pthread_mutex_lock(&the.lock);
	pthread_mutex_lock(&the.shared);
	pthread_mutex_lock(&the.tasks_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&the.tasks_lock);
	pthread_mutex_unlock(&the.shared);
	pthread_mutex_unlock(&the.lock);
}

/* In a child of fork the thread does not exist. The thread's data stays as it was and must not be used. */
static void in_child(void)
{
	atomic_fetch_add(&the.generation, 1);
	the.users = 0;
	the.ending = false;
	the.loop = NULL;
	the.waker = NULL;
	list_init(&the.tasks);
	after_fork();
}

static void prepare_forks(void)
{
	pthread_atfork(before_fork, after_fork, in_child);
}

unsigned thread_generation(void)
{
	return atomic_load(&the.generation);
}

void thread_lock(void)
{
	pthread_mutex_lock(&the.shared);
}

void thread_unlock(void)
{
	pthread_mutex_unlock(&the.shared);
}

/* --- tasks ------------------------------------------------------------------------------------------------------- */

static struct task *next_task(void)
{
	pthread_mutex_lock(&the.tasks_lock);
	struct task *task = list_first(&the.tasks, struct task, node);
	if (task)
		list_remove(&task->node);
	pthread_mutex_unlock(&the.tasks_lock);
	return task;
}

static void work_off(void *ctx UNUSED)
{
	for (struct task *task; (task = next_task());)
		task->fn(task);
}

void thread_post(struct task *task)
{
	pthread_mutex_lock(&the.tasks_lock);
	list_append(&the.tasks, &task->node);
	waker_wake(the.waker);
	pthread_mutex_unlock(&the.tasks_lock);
}

struct errand {
	struct task task;
	void (*fn)(void *ctx);
	void *ctx;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done;
};

static void run_errand(struct task *task)
{
	struct errand *e = container_of(task, struct errand, task);
	e->fn(e->ctx);
	pthread_mutex_lock(&e->lock);
	e->done = true;
	pthread_cond_signal(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

void thread_do(void (*fn)(void *ctx), void *ctx)
{
	struct errand e = { .task.fn = run_errand, .fn = fn, .ctx = ctx };
	pthread_mutex_init(&e.lock, NULL);
	pthread_cond_init(&e.changed, NULL);
	thread_post(&e.task);
	pthread_mutex_lock(&e.lock);
	while (!e.done)
		pthread_cond_wait(&e.changed, &e.lock);
	pthread_mutex_unlock(&e.lock);
	pthread_cond_destroy(&e.changed);
	pthread_mutex_destroy(&e.lock);
}

struct loop *thread_loop(void)
{
	return the.loop;
}

/* --- the thread -------------------------------------------------------------------------------------------------- */

static void *run(void *ctx)
{
	loop_run(ctx);
	loop_drain(ctx, DRAIN_MS);
	return NULL;
}

/* The thread blocks all signals except SIGCHLD, because signals are for the caller. SIGPIPE is blocked too, because a
 * failed write returns an error. */
static int start_thread(void)
{
	sigset_t blocked, before;
	sigfillset(&blocked);
	sigdelset(&blocked, SIGCHLD);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	int r = pthread_create(&the.thread, NULL, run, the.loop);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

static int start(void)
{
	int r = loop_make(&the.loop);
	if (r < 0)
		return r;
	the.waker = waker_new(the.loop, work_off, NULL);
	r = the.waker ? start_thread() : -EMFILE;
	if (r < 0) {
		the.waker = waker_free(the.waker);
		the.loop = loop_free(the.loop);
	}
	return r;
}

int thread_acquire(struct fail *f)
{
	pthread_once(&the.once, prepare_forks);
	pthread_mutex_lock(&the.lock);
	while (the.ending)
		pthread_cond_wait(&the.ended, &the.lock);
	int r = the.users ? 0 : start();
	the.users += r == 0;
	pthread_mutex_unlock(&the.lock);
	if (r < 0)
		return fail_set(f, FAIL_INTERNAL, "cannot start the thread of libhusk: %s", strerror(-r));
	return 0;
}

static void end(struct task *task UNUSED)
{
	the.waker = waker_free(the.waker);
	loop_stop(the.loop, 0);
}

void thread_release(void)
{
	pthread_mutex_lock(&the.lock);
	bool last = --the.users == 0;
	the.ending = last;
	pthread_mutex_unlock(&the.lock);
	if (!last)
		return;
	/* The lock is not held here, because the thread may be starting a process, and fork takes the lock. */
	the.end.fn = end;
	thread_post(&the.end);
	pthread_join(the.thread, NULL);
	pthread_mutex_lock(&the.lock);
	the.loop = loop_free(the.loop);
	the.ending = false;
	pthread_cond_broadcast(&the.ended);
	pthread_mutex_unlock(&the.lock);
}
