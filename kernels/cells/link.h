/* The kernel link after its hello: length-prefixed JSON both ways. Everything that comes in is hostile: length, depth,
 * amount and encoding are checked before a message is looked at. The order of messages is the cell's business. */
#ifndef HUSK_KERNELS_CELLS_LINK_H
#define HUSK_KERNELS_CELLS_LINK_H

#include <jansson.h>

#include "base/buf.h"
#include "kernels/protocol.h"
#include "kernels/system/poller.h"

/* Parsing makes a tree: these bound what 12 MiB of brackets could cost. User code can hand its kernel such data in good
 * faith, so a message that exceeds them is dropped and the kernel lives on. */
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
};

/* Borrows from its tree. */
struct link_message {
	json_t *tree;
	enum link_op op;
	json_int_t id;
	const char *token;	      /* hello; NULL = none */
	json_int_t version;	      /* hello */
	const char *language_version; /* hello */
	bool looks;		      /* hello: it takes `look` */
	bool queries;		      /* hello: it takes `complete`, `inspect` and `is_complete` */
	const char *display_id;	      /* display; NULL = none */
	bool update;		      /* display */
	bool clear, wait;	      /* display: what there is goes, now or with the next output */
	bool sync;		      /* display: the kernel waits for "synced" on the link before it goes on */
	const char *prompt;	      /* input; NULL = none */
	size_t prompt_len;
	bool password;	     /* input: the answer is a secret */
	bool cancel;	     /* input: it is not wanted any more */
	json_int_t question; /* input: the kernel's number of it, which the answer repeats */
	int exit_code;	     /* error: of a cell that ended itself; -1 = none */
	bool unusable;	     /* display, result: the bundle is not one that a manager takes */
	const uint8_t *raw;  /* the message as it came: valid JSON, an object */
	size_t raw_len;
};

/* The id of the next run, look or query: random, so that what an earlier cell left running in the interpreter cannot send
 * messages under it before the kernel has it. Between 1 and 2^53, which a double holds. */
json_int_t link_make_id(void);
/* 0 and *ret (link_message_release() it); -E2BIG if it is too much to be parsed; -EPROTO and in *ret_why a constant
 * phrase such as "sent something that is not a JSON object". */
int link_parse(const void *data, size_t n, struct link_message *ret, const char **ret_why);
void link_message_release(struct link_message *m);

struct link {
	int fd; /* -1 = closed */
	struct watch watch;
	struct buf in;
	struct buf out;
	bool unread; /* once it is gone: the other end had not read all that was sent */
	/* The message is valid during the call. The link may be closed from inside. */
	void (*on_message)(struct link *l, const struct link_message *m);
	/* A message was too much to be parsed. */
	void (*on_dropped)(struct link *l);
	/* Called once: the other end is gone or broke the protocol, and the link is closed. `why` completes "the kernel …". */
	void (*on_gone)(struct link *l, bool broken, const char *why);
};

/* Takes the descriptor. The callbacks are set by the caller before. */
void link_open(struct link *l, struct poller *p, int fd);
/* Idempotent; on_gone is not called. */
void link_close(struct link *l);
/* Queues a message (no reference is taken) and writes what the socket takes. -EPIPE if the link is closed. */
int link_send(struct link *l, const json_t *message);
/* Handles what has arrived; used before a verdict on a kernel that has exited. */
void link_drain(struct link *l);

#endif
