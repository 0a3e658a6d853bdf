/* The kernel link from the kernel's end (docs/protocol.md, section 2): length-prefixed JSON over one socket. */
#ifndef HUSK_KERNELS_JUPYTER_UPLINK_H
#define HUSK_KERNELS_JUPYTER_UPLINK_H

#include <jansson.h>

#include "base/buf.h"
#include "base/fail.h"

struct uplink {
	int fd; /* -1 = closed */
	char *address;
	char *token;	  /* of TCP */
	int taken_fd;	  /* a byte for each display and sync that PID 1 has taken; -1 = nobody tells */
	unsigned untaken; /* that have been sent and not taken yet */
	struct buf in;
	size_t used;
	bool corked;	/* messages wait for uplink_uncork(), to be read in one go */
	struct buf out; /* what waits */
};

/* Takes HUSK_LINK, HUSK_TOKEN_FD and HUSK_TAKEN_FD out of the environment and keeps their descriptors from the kernel. Nothing is dialled
 * yet: over TCP, PID 1 waits only seconds for the hello of somebody who has connected. */
int uplink_take(struct uplink *ret, struct fail *f);
/* Connects, if that is needed, and says that cells can come. */
int uplink_hello(struct uplink *u, const char *language_version, struct fail *f);
void uplink_release(struct uplink *u);

/* Writes a whole message, waiting for PID 1 to read. -EMSGSIZE if it is longer than the link carries (nothing was written),
 * -EPIPE if PID 1 is gone. */
int uplink_send(struct uplink *u, const json_t *message);
/* From here on messages wait for each other; the last of a cell are one wake-up of PID 1 then. */
void uplink_cork(struct uplink *u);
void uplink_uncork(struct uplink *u);
/* Waits until PID 1 has taken every display: what is printed from here on stands behind them. */
void uplink_settle(struct uplink *u);
/* Reads what is there. 0; -EPIPE at the end. */
int uplink_read(struct uplink *u);
/* 1 and the next message (the caller owns it), 0 if there is none yet, -EPROTO. */
int uplink_next(struct uplink *u, json_t **ret);

#endif
