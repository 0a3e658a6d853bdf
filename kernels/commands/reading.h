/* Whether somebody waits for what is typed at a terminal. Nothing announces that; but a process that sleeps shows in /proc in which
 * call it does, and from which descriptors it reads there. */
#ifndef HUSK_KERNELS_COMMANDS_READING_H
#define HUSK_KERNELS_COMMANDS_READING_H

#include <sys/types.h>

#include "base/defs.h"

/* A thread that waits, and how often it has gone to sleep: while that stays the same, it is the same wait. */
struct reader {
	pid_t thread;
	uint64_t sleeps;
};

/* A thread of the process group sleeps in a call that returns when something is typed at the terminal (a device number). False too
 * where the kernel does not show it. */
bool reading_find(pid_t group, dev_t terminal, struct reader *ret);

#endif
