/* Work that would block (a database, fsync, a large hash), on the loop's pool of threads. The only place where our code runs off
 * the loop: `fn` may touch only what its context gives it, and never the loop. */
#ifndef HUSK_BASE_WORK_H
#define HUSK_BASE_WORK_H

#include "base/loop.h"

struct work_spec {
	/* Runs in a thread of the pool. */
	void (*fn)(void *ctx);
	/* On the loop, exactly once, when fn has returned. After work_forget(), `forgotten` is set: free the context and do nothing
	 * else. Not called if the loop is freed first: a process that exits does not wait for its threads. */
	void (*on_done)(void *ctx, bool forgotten);
	void *ctx;
	/* May take long (a large file, a slow disk): bulk work takes up only part of the pool and waits its turn for that, so that
	 * quick work never waits behind it. */
	bool bulk;
	/* Computes on data from a session, for which it has a deadline of its own (base/deadline.h). One such job runs at a time:
	 * a session that produces expensive data leaves the other threads, and a CPU, alone. */
	bool render;
	/* Rendering jobs only: the session whose data it is. Sessions take turns: a job waits for at most one of each other session,
	 * however many that session has. Copied; NULL counts as one session. */
	const char *session;
};

struct work;

/* The handle belongs to the loop: it is gone once on_done has returned. */
struct work *work_start(struct loop *loop, const struct work_spec *spec);
/* The caller is no longer interested. A running fn is not stopped: one that has to end early checks a flag of its own. */
void work_forget(struct work *w);

/* True while some on_done is still to come: exit() would wait for it (libuv joins its threads when it is unloaded), _exit() does
 * not. */
bool work_is_running(void);
/* Closes a descriptor off the loop: the last one of a deleted file frees it, which takes a while if it is large. -1 is fine. */
void work_close(struct loop *loop, int fd);

#endif
