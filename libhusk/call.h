/* One blocking call: started on the loop, awaited in the caller's thread, and answered exactly once by whichever
 * comes first: its callback, its deadline, its cancel or the end of the manager. */
#ifndef HUSK_LIBHUSK_CALL_H
#define HUSK_LIBHUSK_CALL_H

#include <pthread.h>

#include "libhusk/handle.h"

struct call {
	struct list node;	 /* in the manager's list; on the loop */
	struct list cancel_node; /* in its cancel object's list; under its lock */
	struct task begin, abort;
	struct husk *husk;
	struct husk_conversation *conversation; /* NULL for calls on the manager */
	/* On the loop: like the manager's start functions; NULL with an empty f = already done. */
	struct op *(*start)(struct call *call, struct fail *f);
	struct op *op;
	/* In the caller's thread. */
	void (*on_text)(struct call *call, int stream, const char *text, size_t n);
	/* Shared. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct list texts;
	bool done, cancelled;
	struct fail fail;
};

/* Shared by the specialised calls; `function` is for errors. */
struct call_target {
	const char *function;
	struct husk *husk; /* or */
	struct husk_conversation *conversation;
	const struct husk_wait *wait;
};

/* Fill in start and on_text first. Returns when it is answered. */
struct husk_error *call_perform(struct call *call, const struct call_target *target);

/* On the loop, from the manager's callbacks. After call_finish() the call may be freed. */
void call_finish(struct call *call, const struct fail *f);
void call_text(struct call *call, int stream, const char *text, size_t n);
/* Ends the call as if it had been cancelled, with this failure. */
void call_end(struct call *call, const struct fail *why);

#endif
