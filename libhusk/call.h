/* One blocking call: it is started on the loop, waited for in the caller's thread, and answered exactly once, whoever is first: its
 * callback, its deadline, its cancel or the manager's end. */
#ifndef HUSK_LIBHUSK_CALL_H
#define HUSK_LIBHUSK_CALL_H

#include <pthread.h>

#include "libhusk/handle.h"

struct call {
	struct list node;	 /* of the manager's calls, on the loop */
	struct list cancel_node; /* of its switch, under that one's lock */
	struct task begin, abort;
	struct husk *husk;
	struct husk_conversation *conversation; /* NULL for calls on the manager itself */
	/* On the loop: as the manager's start functions; NULL with nothing in f = it is done already. */
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

/* What the specialised calls share; `function` is for errors. */
struct call_target {
	const char *function;
	struct husk *husk; /* or */
	struct husk_conversation *conversation;
	const struct husk_wait *wait;
};

/* Fill in start and on_text first. Returns when it is answered. */
struct husk_error *call_perform(struct call *call, const struct call_target *target);

/* On the loop, from the manager's callbacks. After call_finish() the call may be gone. */
void call_finish(struct call *call, const struct fail *f);
void call_text(struct call *call, int stream, const char *text, size_t n);
/* Ends it as if it had been cancelled, for this reason. */
void call_end(struct call *call, const struct fail *why);

#endif
