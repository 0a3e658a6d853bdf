/* The kernel's end of the kernel link (docs/protocol.md, section 2): length-prefixed JSON over one socket. */
#ifndef HUSK_KERNELS_JUPYTER_UPLINK_H
#define HUSK_KERNELS_JUPYTER_UPLINK_H

#include <jansson.h>

#include "base/buf.h"
#include "base/fail.h"

struct uplink {
	int fd; /* -1 = closed */
	char *address;
	char *token;	  /* for TCP; NULL = none */
	int taken_fd;	  /* receives a byte for each display and sync that PID 1 has processed; -1 = not supported */
	unsigned untaken; /* sent and not yet processed */
	struct buf in;
	size_t used;
	bool corked;	/* messages wait for uplink_uncork(), so that PID 1 reads them together */
	struct buf out; /* the waiting messages */
};

/* Removes HUSK_LINK, HUSK_TOKEN_FD and HUSK_TAKEN_FD from the environment and keeps the kernel from inheriting
 * their descriptors. Does not connect yet: over TCP, PID 1 waits only seconds for the hello of a connected client. */
int uplink_take(struct uplink *ret, struct fail *f);
/* Connects, if needed, and says hello: cells can follow. */
int uplink_hello(struct uplink *u, const char *language_version, struct fail *f);
void uplink_release(struct uplink *u);

/* Writes a whole message, waiting for PID 1 to read. -EMSGSIZE if it is too long for the link (nothing was
 * written), -EPIPE if PID 1 has closed the link. */
int uplink_send(struct uplink *u, const json_t *message);
/* Collects messages from now on, so that the last ones of a cell wake PID 1 only once. */
void uplink_cork(struct uplink *u);
void uplink_uncork(struct uplink *u);
/* Waits until PID 1 has processed every display: later output comes after them. */
void uplink_settle(struct uplink *u);
/* Reads what has arrived. 0, or -EPIPE if PID 1 has closed the link. */
int uplink_read(struct uplink *u);
/* 1 and the next message (the caller owns it), 0 if there is none yet, -EPROTO. */
int uplink_next(struct uplink *u, json_t **ret);

#endif
