/* A deadline for work off the loop. Threads of the pool cannot be stopped from outside, so long work on data from a
 * session checks the deadline itself and ends early. The deadline belongs to the thread that sets it and counts the CPU
 * time of that thread, so a busy machine does not shorten it. Code on the loop sets no deadline, so none passes there;
 * the size of the data bounds the work instead. */
#ifndef HUSK_BASE_DEADLINE_H
#define HUSK_BASE_DEADLINE_H

#include "base/buf.h"

/* Sets the deadline of this thread, in CPU time from now on; 0 removes it. */
void deadline_set(unsigned cpu_ms);
/* Makes a system call, so call it only every few thousand steps. Once true, the result stays true. */
bool deadline_passed(void);
/* Appends a note that this many bytes were left out because the deadline passed. */
void deadline_note(struct buf *out, size_t bytes);

#endif
