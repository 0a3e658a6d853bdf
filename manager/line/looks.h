/* Asks PID 1 for the state of its session: memory, disks, and the variables of its kernel. A look that is not
 * answered in time ends without an answer. */
#ifndef HUSK_MANAGER_LINE_LOOKS_H
#define HUSK_MANAGER_LINE_LOOKS_H

#include "manager/line/dispatch.h"
#include "manager/model/look.h"

/* Embedded in its owner, zeroed before. */
struct looker {
	/* Once, from the loop. */
	void (*on_look)(struct looker *l, const struct look *look);

	/* Private. */
	struct list node;
	struct timer *limit;
	struct dispatch *dispatch;
};

void look_start(struct looker *l, struct dispatch *d);
/* Idempotent; accepts a zeroed looker. on_look is not called. */
void look_stop(struct looker *l);

/* For the line: the session is over. All looks end without an answer. */
void looks_lost(struct dispatch *d);
/* For the line: it is being freed. Drops all looks without callbacks. */
void looks_release(struct dispatch *d);
/* For the line: handles an INFO frame. 0, or negative if it is malformed. */
int looks_frame(struct dispatch *d, const struct wire_frame *frame);

#endif
