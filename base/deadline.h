/* A deadline for work off the loop. Threads of the pool cannot be stopped from outside, so long work on data from
 * a session checks the deadline itself and ends early. The deadline belongs to the thread that sets it and counts
 * the CPU time of that thread, so a busy machine does not shorten it. Where none is set, as on the loop, it never
 * passes; there the size of the data bounds the work. */
#ifndef HUSK_BASE_DEADLINE_H
#define HUSK_BASE_DEADLINE_H

#include "base/buf.h"

/* For this thread, from now on; 0 = none. */
void deadline_set(unsigned cpu_ms);
/* Makes a system call, so check it every few thousand steps. Stays true once it was true. */
bool deadline_passed(void);
/* Appends a note that this many bytes were left out because the deadline passed. */
void deadline_note(struct buf *out, size_t bytes);

#endif
