/* What the caller holds: managers and their conversations. All that are open are listed, so that a pointer to one that was closed, or
 * to nothing of ours, is recognised before anything is read through it. */
#ifndef HUSK_LIBHUSK_HANDLE_H
#define HUSK_LIBHUSK_HANDLE_H

#include "libhusk/error.h"
#include "libhusk/thread.h"

struct husk {
	struct list node; /* of all managers, under thread_lock() */
	struct list
		conversations; /* likewise, and changed on the loop only; those that were closed stay until the manager goes */
	unsigned generation;
	size_t references; /* the caller's own, and one for each call; under thread_lock() */
	struct config config;
	char *program;
	bool keep_sessions;
	/* On the loop only: */
	struct manager *manager;
	bool closing; /* no call begins any more */
	struct list calls;
};

struct husk_conversation {
	struct list node; /* of its manager */
	struct husk *husk;
	bool open; /* under thread_lock() */
	/* On the loop only: */
	struct conversation *conversation; /* NULL once nothing is left of it */
	struct attach_server *server;	   /* for husk's own verbs: repl, shell, cp, jupyter */
	struct strv made;		   /* sessions to end when the manager is closed */
};

/* A reference to the manager of an open handle, for one call. NULL with an error that names the function. */
struct husk *handle_hold(struct husk *h, const char *function, struct husk_error **ret_error);
struct husk *handle_hold_conversation(struct husk_conversation *c, const char *function, struct husk_error **ret_error);
void handle_let_go(struct husk *h);

/* A manager is open from here on, until it is removed: false if somebody has done so already. Its caller's reference goes with it. */
void handle_add(struct husk *h);
bool handle_remove(struct husk *h);
/* One that was never added. */
void handle_free(struct husk *h);

/* Copies what the caller's version of a structure has into ours: the rest stays zero. NULL is a structure of zeros. */
#define HANDLE_TAKE(function, type, from, to) ((from) ? handle_take(function, #type, from, to, sizeof(type)) : NULL)
struct husk_error *handle_take(const char *function, const char *type, const void *from, void *to, size_t size);

#endif
