/* Notices a loop that does not turn, because a callback hangs or takes too long: writes to standard error for how long, what the loop is
 * doing, and a stack. For programs of ours only: in libhusk the signals of the process are somebody else's. */
#ifndef HUSK_BASE_WATCHDOG_H
#define HUSK_BASE_WATCHDOG_H

#include "base/defs.h"

/* From the thread of the loop, a uv_loop_t. Watches one loop of the process, the last one that was started; while that waits for events
 * it costs nothing. Does nothing where the system has no timer for it. */
void watchdog_start(void *uv_loop, uint64_t limit_ms);

/* What the loop is about to do: `what` must be static. For the adapters of base/, at the beginning of each callback. */
void watchdog_note(const char *what);
/* More exactly. The name is copied as far as it fits, and may be NULL. */
void watchdog_detail(const char *what, const char *name, uint64_t number);

#endif
