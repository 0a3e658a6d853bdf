/* Passes the manager's queries to an idle kernel, one at a time: completion, help, and whether code is complete. A
 * query does not delay a cell: if the kernel takes too long or is needed for a cell, the query is cancelled. The
 * kernel's answer is hostile input and is passed on unchanged if it is short enough.
 *
 * A query waits for a kernel that is about to be idle: it starts, or its cell was interrupted. */
#ifndef HUSK_KERNELS_CELLS_QUERY_H
#define HUSK_KERNELS_CELLS_QUERY_H

#include <sys/types.h>

#include "kernels/cells/link.h"

struct query {
	struct poller *poller;
	int signal; /* makes a kernel cancel the query */
	/* The answer for the manager to query `number`: one JSON object. */
	void (*on_answer)(struct query *q, uint32_t number, const void *json, size_t n);

	json_t *held;  /* a query that waits for the kernel; NULL = none */
	json_int_t id; /* id of the last query on the link */
	bool open;     /* the kernel has not answered the last query, … */
	bool awaited;  /* … and the manager has not been answered either */
	uint32_t number;
	pid_t kernel;
	struct timeout limit;
};

/* Sends the manager's query, a JSON object, to the kernel. on_answer() is called exactly once, perhaps before this
 * returns. */
void query_send(struct query *q, struct link *link, pid_t kernel, uint32_t number, const json_t *request);
/* Keeps the query for query_release(), for two seconds at most. on_answer() is called exactly once. */
void query_hold(struct query *q, uint32_t number, const json_t *request);
/* Sends the query that waits, if there is one, to a kernel that is idle. */
void query_release(struct query *q, struct link *link, pid_t kernel, bool takes_queries);
/* Answers without asking the kernel: "busy" (a run is under way), "cannot" (queries are unsupported), "gone". */
void query_decline(struct query *q, uint32_t number, const char *status);
/* Takes the kernel's answer. -1 if no query is open. */
int query_answered(struct query *q, const struct link_message *m);
/* Cancels all queries, because the kernel is needed for something else. */
void query_make_way(struct query *q);
/* Ends the query that the kernel has, because it is dead. */
void query_lost(struct query *q);
/* Answers what is held too, because there will be no kernel. */
void query_stop(struct query *q);

#endif
