/* What consoles and editors ask between two cells (docs/protocol.md, section 2): passed on as requests of the Jupyter protocol, one at a
 * time. Replies are hostile: bounded and cleaned here. A kernel is never interrupted for a question, since not all of them bear that
 * outside of a cell: an answer that is late is not waited for. */
#ifndef HUSK_KERNELS_JUPYTER_QUERIES_H
#define HUSK_KERNELS_JUPYTER_QUERIES_H

#include "jupyter/message.h"

/* Before PID 1 signals. */
#define QUERIES_PATIENCE_MS 3500

struct queries {
	/* Set by the owner. Sends a request on the shell channel and writes its id; false if that is not possible. */
	bool (*request)(struct queries *q, const char *type, const json_t *content, char ret_id[MESSAGE_ID_LEN + 1]);
	/* The answer, a message of the link; borrowed. */
	void (*answer)(struct queries *q, const json_t *message);

	bool open;
	json_int_t id; /* of the question on the link */
	size_t kind;
	uint64_t due_ms;
	struct {
		char request[MESSAGE_ID_LEN + 1]; /* the last one's; "" = none */
		bool silent; /* it was not answered: the kernel may know no such request, and is not asked again */
	} kinds[3];
};

/* True if the message is a question: it is answered, now or later. */
bool queries_send(struct queries *q, const json_t *message, bool idle, uint64_t now_ms);
/* True if the message of the shell channel was a reply to a question. */
bool queries_replied(struct queries *q, const struct message *m);
/* The kernel is wanted for something else. */
void queries_leave(struct queries *q);
void queries_tick(struct queries *q, uint64_t now_ms);

#endif
