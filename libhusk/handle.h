/* The caller's handles: managers and their conversations. All open handles are listed, so a pointer to anything else is
 * recognized before it is dereferenced. */
#ifndef HUSK_LIBHUSK_HANDLE_H
#define HUSK_LIBHUSK_HANDLE_H

#include "libhusk/error.h"
#include "libhusk/thread.h"

struct husk {
	struct list node; /* in the list of managers, under thread_lock() */
	struct list
		conversations; /* under thread_lock(), changed on the loop; closed ones stay until the manager ends */
	unsigned generation;
	size_t references; /* the caller's reference, and one for each call; under thread_lock() */
	struct config config;
	char *program;
	bool keep_sessions;
	/* On the loop only: */
	struct manager *manager;
	bool closing; /* no new calls */
	struct list calls;
};

struct husk_conversation {
	struct list node; /* in its manager's list */
	struct husk *husk;
	bool open; /* under thread_lock() */
	/* On the loop only: */
	struct conversation *conversation; /* NULL once the conversation has been closed completely */
	struct local_server *server;	   /* for husk's verbs: repl, shell, cp, jupyter */
	struct strv made;		   /* sessions to end when the manager is closed */
};

/* Takes a reference to the manager of an open handle, for one call. Otherwise returns NULL and an error that names the
 * function. */
struct husk *handle_hold(struct husk *h, const char *function, struct husk_error **ret_error);
struct husk *handle_hold_conversation(struct husk_conversation *c, const char *function, struct husk_error **ret_error);
void handle_let_go(struct husk *h);

/* A manager is open from handle_add() to handle_remove(), which returns false if it was removed already. Removing drops
 * the caller's reference. */
void handle_add(struct husk *h);
bool handle_remove(struct husk *h);
/* Frees a manager that was never added. */
void handle_free(struct husk *h);

/* Copies the fields that the caller's version of a structure has; the rest stays zero. `from` = NULL gives a structure
 * of zeros. */
#define HANDLE_TAKE(function, type, from, to) ((from) ? handle_take(function, #type, from, to, sizeof(type)) : NULL)
struct husk_error *handle_take(const char *function, const char *type, const void *from, void *to, size_t size);

#endif
