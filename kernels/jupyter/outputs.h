/* The output of cells, one at a time: converts messages of the kernel's iopub and shell channels to text on stdout and
 * stderr and to messages of the kernel link. Every message of the kernel is hostile here. Whatever it sends, in
 * whatever order, PID 1 gets a valid sequence: displays, at most one result, at most one error, one `done`. */
#ifndef HUSK_KERNELS_JUPYTER_OUTPUTS_H
#define HUSK_KERNELS_JUPYTER_OUTPUTS_H

#include "jupyter/message.h"

struct outputs {
	/* Set by the owner. */
	void (*write)(struct outputs *o, int fd, const void *data, size_t n);
	/* Queues a message of the link; borrowed. False if it is too long for the link, and then nothing was sent. */
	bool (*send)(struct outputs *o, const json_t *message);

	/* The kernel displays the values of cells instead of sending results: a display that no other output follows is
	 * the cell's value. */
	bool displays_values;

	bool running;
	json_int_t call;
	char request[MESSAGE_ID_LEN + 1]; /* id of the execute_request */
	bool replied;
	bool idle;
	bool failed;	  /* an error was sent */
	bool interrupted; /* set by the owner when it interrupts the cell */
	json_t *result;
	json_t *reply_error; /* content of the reply, for kernels that report errors only there */
	json_t *pending;     /* with displays_values: the last display, which may be the cell's value */
	json_t *late;	     /* displays of ended cells, sent with the next cell */
	struct outputs_stream {
		bool foreign;  /* the last output belongs to an earlier cell */
		bool mid_line; /* the last output did not end in a newline */
	} streams[2];
};

void outputs_init(struct outputs *o);
void outputs_release(struct outputs *o);

/* A cell starts: `request` is the id of its execute_request. */
void outputs_begin(struct outputs *o, json_int_t call, const char *request);
/* Takes a message of the iopub channel. */
void outputs_published(struct outputs *o, const struct message *m);
/* Takes an execute_reply; other messages are ignored. */
void outputs_replied(struct outputs *o, const struct message *m);
/* True if the reply and the idle status have both arrived: then all output of the cell has arrived. */
bool outputs_complete(const struct outputs *o);
/* Sends waiting output. The cell continues. */
void outputs_flush(struct outputs *o);
/* Sends waiting output, the result and `done`. */
void outputs_finish(struct outputs *o);
/* Writes a line to stderr, for the reader of the cell's output. */
void outputs_note(struct outputs *o, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
