/* Asks PID 1 how its session stands: memory, disks, the variables that its kernel holds. A look that is not answered in time ends
 * all the same, without an answer. */
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
/* Idempotent, also on a zeroed one: on_look is not called. */
void look_stop(struct looker *l);

/* For the line: its session is over, and all end without an answer. */
void looks_lost(struct dispatch *d);
/* For the line: it goes, and nobody is told. */
void looks_release(struct dispatch *d);
/* For the line: an INFO frame. 0, or negative if it is none. */
int looks_frame(struct dispatch *d, const struct wire_frame *frame);

#endif
