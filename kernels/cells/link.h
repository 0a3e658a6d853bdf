/* The kernel link after its hello: length-prefixed JSON in both directions. All input is hostile: length, depth,
 * number of values and encoding are checked before a message is interpreted. cell.c checks the order of messages. */
#ifndef HUSK_KERNELS_CELLS_LINK_H
#define HUSK_KERNELS_CELLS_LINK_H

#include <jansson.h>

#include "base/buf.h"
#include "kernels/protocol.h"
#include "kernels/system/poller.h"

/* Parsing builds a tree, so these limits bound the cost of a hostile message (12 MiB of brackets). User code can also
 * display such data in good faith, so a message over a limit is dropped and the kernel keeps running. */
#define LINK_DEPTH_MAX 256
#define LINK_CONTAINERS_MAX 100000
#define LINK_VALUES_MAX 1500000

enum link_op {
	LINK_HELLO,
	LINK_DISPLAY,
	LINK_RESULT,
	LINK_ERROR,
	LINK_DONE,
	LINK_SYNC,
	LINK_VARIABLES,
	LINK_INPUT,
	LINK_ANSWER,
	LINK_FORKED,
	LINK_WOKEN,
};

/* Strings are borrowed from `tree`. */
struct link_message {
	json_t *tree;
	enum link_op op;
	json_int_t id;
	const char *token;	      /* hello; NULL = none */
	json_int_t version;	      /* hello */
	const char *language_version; /* hello */
	bool lists_variables;	      /* hello: it supports `look` */
	bool queries;		      /* hello: it supports `complete`, `inspect` and `is_complete` */
	bool forks;		      /* hello: it supports `fork` */
	const char *cannot;	      /* forked: why there is no copy; NULL = there is one */
	const char *display_id;	      /* display; NULL = none */
	bool update;		      /* display */
	bool clear, wait;	      /* display: drop the output so far, now or (`wait`) with the next output */
	bool sync;		      /* display: the kernel waits for "synced" on the link */
	const char *prompt;	      /* input; NULL = none */
	size_t prompt_len;
	bool password;	      /* input: the answer is a secret */
	bool cancel;	      /* input: cancels the prompt */
	json_int_t prompt_id; /* input: the kernel's number for the prompt; the answer repeats it */
	int exit_code;	      /* error: exit code of a cell that ended itself; -1 = none */
	bool unusable;	      /* display, result: the manager would not accept this bundle */
	const uint8_t *raw;   /* the message as received: valid JSON, an object */
	size_t raw_len;
};

/* Makes the id of the next run, query or list of variables. It is random, so that code of an earlier cell that still
 * runs in the interpreter cannot send messages with this id before the kernel has it. Between 1 and 2^53, which a
 * double can hold. */
json_int_t link_make_id(void);
/* 0 and *ret (link_message_release() it); -E2BIG if the message is too large to parse; -EPROTO and in *ret_why a
 * constant phrase such as "sent something that is not a JSON object". */
int link_parse(const void *data, size_t n, struct link_message *ret, const char **ret_why);
void link_message_release(struct link_message *m);

struct link {
	int fd; /* -1 = closed */
	struct watch watch;
	struct buf in;
	struct buf out;
	size_t begun; /* where the message of link_begin() starts in `out` */
	bool fresh;   /* something was read since the owner last set this to false */
	bool unread;  /* after the close: the other end had not read everything that was sent */
	/* The message is valid during the call. The callback may close the link. */
	void (*on_message)(struct link *l, const struct link_message *m);
	/* A message was too large to parse. */
	void (*on_dropped)(struct link *l);
	/* Called once: the other end has closed or violated the protocol, and the link is closed. `why` completes
	 * "the kernel …". */
	void (*on_gone)(struct link *l, bool broken, const char *why);
};

/* Takes the descriptor. The caller has set the callbacks. */
void link_open(struct link *l, struct poller *p, int fd);
/* Idempotent; does not call on_gone. */
void link_close(struct link *l);
/* Queues a message (no reference is taken) and writes what the socket accepts. -EPIPE if the link is closed. */
int link_send(struct link *l, const json_t *message);
/* The same for a message that the caller appends to the buffer before it calls link_finish(). NULL if the link is
 * closed. */
struct buf *link_begin(struct link *l);
void link_finish(struct link *l);
/* Handles input that has arrived; used before deciding why a kernel has exited. */
void link_drain(struct link *l);

#endif
