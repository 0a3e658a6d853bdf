/* File calls on a line. They are not replayed: a connection that breaks ends them, and PID 1 cleans up by itself. */
#ifndef HUSK_MANAGER_LINE_TRANSFER_H
#define HUSK_MANAGER_LINE_TRANSFER_H

#include "manager/line/dispatch.h"

/* Embedded in its owner. Joined to a line it hears of its end; between begin and END it is one file call. */
struct transfer {
	struct list node;
	struct dispatch *dispatch; /* NULL = not joined */
	uint32_t call;		   /* 0 = none under way */
	uint32_t last;		   /* the one under way, or the one before; 0 = there was none */
	bool abandoned;		   /* cancelled: what still comes is for nobody */
	/* A call has begun: `last` is its number. */
	void (*on_begun)(struct transfer *t);
	/* A frame of the call; after END the call is over and the next may begin. Negative if PID 1 broke the protocol. */
	int (*on_frame)(void *ctx, const struct wire_frame *frame);
	/* The call is over without an END. If the container itself is gone, the transfer is no longer joined. */
	void (*on_lost)(void *ctx, const struct fail *f);
	void *ctx;
};

void transfer_join(struct transfer *t, struct dispatch *d);
/* Ends the call that is under way, if any, at PID 1 too; nothing is called back. Idempotent. */
void transfer_leave(struct transfer *t);
/* Starts a call. */
int transfer_begin(struct transfer *t, const struct wire_files *call, struct fail *f);
/* Frames of the call. */
void transfer_send(struct transfer *t, const struct buf *frames);
/* Ends the call at PID 1; the transfer stays joined and may begin another. */
void transfer_cancel(struct transfer *t);

/* --- for the line ---------------------------------------------------------------------------------------------- */
/* True if the frame belongs to a file call; *ret is then 0 or negative. */
bool transfers_frame(struct dispatch *d, const struct wire_frame *frame, int *ret);
/* The connection is gone; `gone` = the container too. */
void transfers_lost(struct dispatch *d, const struct fail *f, bool gone);
/* True if somebody copies files, also between two calls. */
bool transfers_busy(const struct dispatch *d);

#endif
