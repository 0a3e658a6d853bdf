/* Finds out whether a process waits for input from a terminal. No event announces this, but /proc shows in which
 * system call a process sleeps and which descriptors it reads there. */
#ifndef HUSK_KERNELS_COMMANDS_READING_H
#define HUSK_KERNELS_COMMANDS_READING_H

#include <sys/types.h>

#include "base/defs.h"

/* A thread that waits, and its count of sleeps: while the count stays the same, it is the same wait. */
struct reader {
	pid_t thread;
	uint64_t sleeps;
};

/* True if a thread of the process group sleeps in a system call that returns when something is typed at `terminal` (a
 * device number). Also false if the Linux kernel does not show the system call. */
bool reading_find(pid_t group, dev_t terminal, struct reader *ret);

#endif
