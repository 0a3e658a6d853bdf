/* Passes queries of consoles and editors to the kernel between two cells, as requests of the Jupyter protocol, one at a
 * time (docs/protocol.md, section 2). Replies are hostile input, and are bounded and cleaned here. A kernel is never
 * interrupted for a query, since not all kernels survive an interrupt outside of a cell. Instead, a query that takes
 * too long is given up. */
#ifndef HUSK_KERNELS_JUPYTER_QUERIES_H
#define HUSK_KERNELS_JUPYTER_QUERIES_H

#include "jupyter/message.h"

/* Less than PID 1's limit, after which it sends signals. */
#define QUERIES_PATIENCE_MS 3500

struct queries {
	/* Set by the owner. Sends a request on the shell channel and writes its id; false if that is not possible. */
	bool (*request)(struct queries *q, const char *type, const json_t *content, char ret_id[MESSAGE_ID_LEN + 1]);
	/* Passes on the answer, a message of the link; borrowed. */
	void (*answer)(struct queries *q, const json_t *message);

	bool open;
	json_int_t id; /* id of the query on the link */
	size_t kind;
	uint64_t due_ms;
	struct {
		char request[MESSAGE_ID_LEN + 1]; /* id of the last request; "" = none */
		bool silent; /* it was not answered: the kernel may not support such requests, and is not asked again */
	} kinds[3];
};

/* True if the message is a query: it is answered, now or later. */
bool queries_send(struct queries *q, const json_t *message, bool idle, uint64_t now_ms);
/* True if the message of the shell channel was a reply to a query. */
bool queries_replied(struct queries *q, const struct message *m);
/* Gives up the open query, if there is one: the kernel is needed for something else. */
void queries_leave(struct queries *q);
void queries_tick(struct queries *q, uint64_t now_ms);

#endif
