/* Processes that a command has fed and that still work it off: `tee >(gzip >log.gz)`. Bash does not wait for them. */
#ifndef HUSK_KERNELS_COMMANDS_READERS_H
#define HUSK_KERNELS_COMMANDS_READERS_H

#include <sys/types.h>

/* Living processes of a session whose standard input is a pipe that nobody writes to any more: they end by themselves once they
 * have read it. A pipe that somebody can still write to (`server | logger &`) is a background job's, and those are not waited for.
 * Bounded: 0 too if there is more to look at than a look should take. The session's leader is reaped, and not `other`'s. */
unsigned readers_left(pid_t session, pid_t other);

#endif
