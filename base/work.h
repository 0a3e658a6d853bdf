/* Work that would block (a database, fsync, a large hash) on the loop's own pool of threads. The only place where code of
 * ours runs off the loop: `fn` may touch nothing but what its context hands it, and never the loop. */
#ifndef HUSK_BASE_WORK_H
#define HUSK_BASE_WORK_H

#include "base/loop.h"

struct work_spec {
	/* Runs in a thread of the pool. */
	void (*fn)(void *ctx);
	/* On the loop, exactly once, when fn has returned; also after work_forget() was asked for, then with `forgotten`
	 * set: the context is to be freed and nothing else to be done. Not called when the loop is freed first: a
	 * process that exits does not wait for its threads. */
	void (*on_done)(void *ctx, bool forgotten);
	void *ctx;
	/* May take long (a large file, a host's slow disk): never holds more than a part of the pool, waits its turn if that is
	 * taken. What must be quick is never behind it. */
	bool bulk;
};

struct work;

/* The handle belongs to the loop: it is gone once on_done has returned. */
struct work *work_start(struct loop *loop, const struct work_spec *spec);
/* The caller is no longer interested. fn may be running and is not stopped: what must end early looks at a flag of its own. */
void work_forget(struct work *w);

/* True while something was started whose on_done has not come: exit() would wait for it (libuv joins its threads when
 * the library is unloaded), _exit() does not. */
bool work_is_running(void);

#endif
