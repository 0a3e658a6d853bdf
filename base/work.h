/* Worker jobs: work that would block (a database, fsync, a large hash) on the loop's thread pool. This is the only
 * place where our code runs off the loop. `fn` may use only its context, never the loop. */
#ifndef HUSK_BASE_WORK_H
#define HUSK_BASE_WORK_H

#include "base/loop.h"

struct work_spec {
	/* Runs in a thread of the pool. */
	void (*fn)(void *ctx);
	/* Called on the loop, exactly once, when fn has returned. After work_forget(), `forgotten` is set: free the
	 * context and do nothing else. Not called if the loop is freed first: a process that exits does not wait for
	 * its threads. */
	void (*on_done)(void *ctx, bool forgotten);
	void *ctx;
	/* May take long (a large file, a slow disk). Bulk work uses only part of the pool and is queued for it, so
	 * quick work never waits behind it. */
	bool bulk;
	/* Computes on data from a session, under a deadline of its own (base/deadline.h). One such job runs at a
	 * time, so a session with expensive data leaves the other threads, and a CPU, free. */
	bool render;
	/* Looks up a name, which may take as long as a name server likes. Two such jobs run at a time, but never two
	 * of one session. */
	bool lookup;
	/* Rendering and lookups only: the session that the work is for. Sessions take turns: a job waits for at most
	 * one job of each other session. Copied; NULL counts as one session. */
	const char *session;
};

struct work;

/* The loop owns the handle, which is invalid once on_done has returned. */
struct work *work_start(struct loop *loop, const struct work_spec *spec);
/* The caller is no longer interested. A running fn is not stopped; one that must end early checks a flag of its
 * own. */
void work_forget(struct work *w);

/* True while an on_done is still due. exit() would wait for it, because libuv joins its threads when it is
 * unloaded; _exit() does not. */
bool work_is_running(void);
/* Closes a descriptor off the loop, since closing the last descriptor of a large deleted file takes a while. fd may be
 * -1. */
void work_close(struct loop *loop, int fd);

#endif
