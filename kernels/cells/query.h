/* One question of the manager's at a time to a kernel that is idle: completion, help, whether code is whole. A question delays no
 * cell: a kernel that takes too long, or is wanted for a cell, is told to leave it. The kernel's answer is hostile input, passed on as
 * it came, if it is short enough. */
#ifndef HUSK_KERNELS_CELLS_QUERY_H
#define HUSK_KERNELS_CELLS_QUERY_H

#include <sys/types.h>

#include "kernels/cells/link.h"

struct query {
	struct poller *poller;
	int signal; /* tells a kernel to leave the question */
	/* What the manager gets for its question `number`: one JSON object. */
	void (*on_answer)(struct query *q, uint32_t number, const void *json, size_t n);

	json_int_t id; /* of the last one, on the link */
	bool open;     /* the kernel has not answered the last one, … */
	bool awaited;  /* … and the manager has not heard either */
	uint32_t number;
	pid_t kernel;
	struct timeout limit;
};

/* The manager's question, as an object, to the kernel. Answered exactly once, perhaps at once. */
void query_send(struct query *q, struct link *link, pid_t kernel, uint32_t number, const json_t *question);
/* Answers without asking: "busy" (the kernel is at work), "cannot" (it takes no questions), "gone". */
void query_decline(struct query *q, uint32_t number, const char *status);
/* The kernel's answer. -1 if nobody had asked. */
int query_answered(struct query *q, const struct link_message *m);
/* The kernel is wanted for something else. */
void query_make_way(struct query *q);
/* The kernel is gone. */
void query_lost(struct query *q);

#endif
