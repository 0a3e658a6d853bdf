/* The output of one cell after another: messages of the kernel's iopub and shell channels become text for our stdout and
 * stderr and messages of the kernel link. Every message of the kernel is hostile here; whatever it sends, in whatever order,
 * PID 1 hears a well-formed story: displays, at most one result, at most one error, one `done`. */
#ifndef HUSK_KERNELS_JUPYTER_OUTPUTS_H
#define HUSK_KERNELS_JUPYTER_OUTPUTS_H

#include "jupyter/message.h"

struct outputs {
	/* Set by the owner. */
	void (*write)(struct outputs *o, int fd, const void *data, size_t n);
	/* Queues a message of the link; borrowed. False if it is longer than the link carries, and then nothing was sent. */
	bool (*send)(struct outputs *o, const json_t *message);

	/* The kernel displays the values of a cell, and has no results: a display that nothing follows is the cell's. */
	bool displays_values;

	bool running;
	json_int_t call;
	char request[MESSAGE_ID_LEN + 1]; /* the id of our execute_request */
	bool replied;
	bool idle;
	bool failed;	  /* an error went up */
	bool interrupted; /* set by the owner, when it was */
	json_t *result;
	json_t *reply_error; /* content of the reply, for kernels that say an error only there */
	json_t *pending;     /* of displays_values: the last display, which may be the cell's value */
	json_t *late;	     /* displays of cells that were over, until there is one to send them with */
	struct outputs_stream {
		bool foreign;  /* what was written last is an earlier cell's */
		bool mid_line; /* it did not end in a newline */
	} streams[2];
};

void outputs_init(struct outputs *o);
void outputs_release(struct outputs *o);

/* A cell starts: `request` is the id of the message that asks the kernel for it. */
void outputs_begin(struct outputs *o, json_int_t call, const char *request);
/* A message of iopub. */
void outputs_published(struct outputs *o, const struct message *m);
/* An execute_reply; others are ignored. */
void outputs_replied(struct outputs *o, const struct message *m);
/* Reply and idle are both there: everything the cell put out has arrived. */
bool outputs_complete(const struct outputs *o);
/* Sends up what waits. The cell goes on. */
void outputs_flush(struct outputs *o);
/* Sends up what waits, the result and `done`. */
void outputs_finish(struct outputs *o);
/* A line for the reader of the cell, on stderr. */
void outputs_note(struct outputs *o, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
