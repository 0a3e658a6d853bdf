/* Notices a loop that does not turn because a callback hangs or takes too long. Writes the duration, the current work
 * of the loop and a stack to standard error. Only for Husk's own programs: with libhusk, the process's signals belong
 * to the host program. */
#ifndef HUSK_BASE_WATCHDOG_H
#define HUSK_BASE_WATCHDOG_H

#include "base/defs.h"

/* Call it from the loop's thread with a uv_loop_t. Watches one loop of the process, the last one started. It costs
 * nothing while the loop waits for events, and does nothing where the system cannot send a timer's signal to one
 * thread. */
void watchdog_start(void *uv_loop, uint64_t limit_ms);

/* States what the loop is about to do; `what` must be static. For the adapters of base/, at the start of each
 * callback. */
void watchdog_note(const char *what);
/* Adds detail. The name is copied, truncated if needed, and may be NULL. */
void watchdog_detail(const char *what, const char *name, uint64_t number);

#endif
