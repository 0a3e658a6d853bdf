/* File transfers on a line. They are not replayed: a broken connection ends them, and PID 1 cleans up by itself. */
#ifndef HUSK_MANAGER_LINE_TRANSFER_H
#define HUSK_MANAGER_LINE_TRANSFER_H

#include "manager/line/dispatch.h"

/* Embedded in its owner. While it is joined to a line, on_lost reports the end of the line. It can make several
 * transfers, one after the other, each from its begin to its END. */
struct transfer {
	struct list node;
	struct dispatch *dispatch; /* NULL = not joined */
	uint32_t call;		   /* 0 = no transfer */
	uint32_t last;		   /* number of the current or the previous transfer; 0 = none yet */
	bool abandoned;		   /* cancelled: further frames are ignored */
	/* Called when a transfer begins; `last` is its number. */
	void (*on_begun)(struct transfer *t);
	/* Called for each frame of the transfer; after END the next may begin. Returns negative if PID 1 violated
	 * the protocol. */
	int (*on_frame)(void *ctx, const struct wire_frame *frame);
	/* The transfer ended without an END. If the container is gone, the struct is no longer joined to the
	 * line. */
	void (*on_lost)(void *ctx, const struct fail *f);
	void *ctx;
};

void transfer_join(struct transfer *t, struct dispatch *d);
/* Ends the current transfer, if any, at PID 1 too. No callbacks. Idempotent. */
void transfer_leave(struct transfer *t);
/* Starts a transfer, or a request about files in place, which has a number and an END like a transfer. */
int transfer_begin(struct transfer *t, const struct wire_files *call, struct fail *f);
int transfer_request(struct transfer *t, const struct wire_file_request *req, struct fail *f);
/* Sends frames of the transfer. */
void transfer_send(struct transfer *t, const struct buf *frames);
/* Ends the transfer at PID 1. `t` stays joined, and the next transfer may begin. */
void transfer_cancel(struct transfer *t);

/* --- for the line ---------------------------------------------------------------------------------------------- */
/* True if the frame belongs to a transfer; *ret is then 0 or negative. */
bool transfers_frame(struct dispatch *d, const struct wire_frame *frame, int *ret);
/* The connection broke. `gone`: the container is gone too. */
void transfers_lost(struct dispatch *d, const struct fail *f, bool gone);
/* True while files are being copied, including the time between two transfers of a copy. */
bool transfers_busy(const struct dispatch *d);

#endif
