/* Prompts of a cell on the kernel's stdin channel. An interactive cell's prompts are sent to PID 1, and the answers are
 * passed to the kernel line by line. In any other cell, the reply to the kernel is that there is no input. */
#ifndef HUSK_KERNELS_JUPYTER_PROMPT_H
#define HUSK_KERNELS_JUPYTER_PROMPT_H

#include "jupyter/message.h"

struct prompt {
	/* Set by the owner. */
	void (*send_up)(struct prompt *a, json_t *message); /* an `input` message without its id; borrowed */
	void (*reply)(struct prompt *a, const json_t *to, const char *text, size_t n);
	void (*interrupt)(struct prompt *a);
	void (*note)(struct prompt *a, const char *text);

	bool interactive;
	unsigned refusals;
	json_int_t number; /* number of the last prompt */
	json_t *open;	   /* the header of the request that waits for an answer; NULL = none */
	struct buf typed;  /* lines of an answer that no prompt has asked for yet */
	bool ended;	   /* after these lines comes the end of input */
};

/* A cell starts. */
void prompt_begin(struct prompt *a, bool interactive);
/* Handles an input_request; other messages are ignored. */
void prompt_request(struct prompt *a, const struct message *m);
/* Takes an answer from PID 1. An answer to a prompt that is no longer open is ignored. */
void prompt_answer(struct prompt *a, const json_t *message);
/* The cell was interrupted or has ended: its open prompt, if there is one, is cancelled. */
void prompt_cancel(struct prompt *a);
void prompt_release(struct prompt *a);

#endif
