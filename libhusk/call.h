/* One blocking call: started on the loop, awaited in the caller's thread, and answered exactly once, by whichever
 * comes first: its callback, its deadline, its cancellation or the end of the manager. */
#ifndef HUSK_LIBHUSK_CALL_H
#define HUSK_LIBHUSK_CALL_H

#include <pthread.h>

#include "libhusk/handle.h"

struct call {
	struct list node;	 /* in the manager's list; used on the loop only */
	struct list cancel_node; /* in its cancel object's list, under that object's lock */
	struct task begin, abort;
	struct husk *husk;
	struct husk_conversation *conversation; /* NULL for calls on the manager */
	/* Called on the loop; works like the manager's start functions. NULL with an empty f = already done. */
	struct op *(*start)(struct call *call, struct fail *f);
	struct op *op;
	/* Called in the caller's thread. */
	void (*on_text)(struct call *call, int stream, const char *text, size_t n);
	/* Shared by the two threads: */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct list texts;
	bool done, cancelled;
	struct fail fail;
};

/* Arguments that all kinds of calls share; `function` is for error messages. */
struct call_target {
	const char *function;
	struct husk *husk; /* or */
	struct husk_conversation *conversation;
	const struct husk_wait *wait;
};

/* Returns when the call is answered. Fill in start and on_text first. */
struct husk_error *call_perform(struct call *call, const struct call_target *target);

/* For the manager's callbacks, on the loop. After call_finish() the call may be freed. */
void call_finish(struct call *call, const struct fail *f);
void call_text(struct call *call, int stream, const char *text, size_t n);
/* Ends the call as if it had been cancelled, with this failure. */
void call_end(struct call *call, const struct fail *why);

#endif
