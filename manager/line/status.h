/* Asks PID 1 for the state of its session: memory, disks, and the variables of its kernel. A request that is not
 * answered in time ends without an answer. */
#ifndef HUSK_MANAGER_LINE_STATUS_H
#define HUSK_MANAGER_LINE_STATUS_H

#include "manager/line/dispatch.h"
#include "manager/model/session-status.h"

/* Embedded in its owner, which zeroes it before use. */
struct status_waiter {
	/* Called once, from the loop. Without an answer, status->answered is false. */
	void (*on_status)(struct status_waiter *w, const struct session_status *status);

	/* Private. */
	struct list node;
	struct timer *limit;
	struct dispatch *dispatch;
};

void status_start(struct status_waiter *w, struct dispatch *d);
/* Idempotent; accepts a zeroed waiter. on_status is not called. */
void status_stop(struct status_waiter *w);

/* For the line: the session is over. All requests end without an answer. */
void status_lost(struct dispatch *d);
/* For the line: it is being freed. Drops all requests without callbacks. */
void status_release(struct dispatch *d);
/* For the line: handles an INFO frame. 0, or negative if it is malformed. */
int status_frame(struct dispatch *d, const struct wire_frame *frame);

#endif
