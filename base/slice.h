/* The time slice of this thread. */
#ifndef HUSK_BASE_SLICE_H
#define HUSK_BASE_SLICE_H

/* For a thread that waits for messages and handles each in microseconds: when it wakes, it need not wait until another
 * thread's slice is over. It gets no larger share of the CPU. Threads and processes that it starts have the usual slice.
 * Does nothing on systems without such a setting (Linux has it since 6.12). */
void slice_shorten(void);

#endif
