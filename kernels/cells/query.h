/* Passes the manager's queries to an idle kernel, one at a time: completion, help, and whether code is complete. A
 * query does not delay a cell: if the kernel takes too long or is needed for a cell, the query is cancelled. The
 * kernel's answer is hostile input and is passed on unchanged if it is short enough. */
#ifndef HUSK_KERNELS_CELLS_QUERY_H
#define HUSK_KERNELS_CELLS_QUERY_H

#include <sys/types.h>

#include "kernels/cells/link.h"

struct query {
	struct poller *poller;
	int signal; /* makes a kernel cancel the query */
	/* The answer for the manager to query `number`: one JSON object. */
	void (*on_answer)(struct query *q, uint32_t number, const void *json, size_t n);

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
/* Answers without asking the kernel: "busy" (a run is under way), "cannot" (queries are unsupported), "gone". */
void query_decline(struct query *q, uint32_t number, const char *status);
/* Takes the kernel's answer. -1 if no query is open. */
int query_answered(struct query *q, const struct link_message *m);
/* Cancels the query, because the kernel is needed for something else. */
void query_make_way(struct query *q);
/* Ends the query, because the kernel is dead. */
void query_lost(struct query *q);

#endif
