/* Processes that still read what a command wrote to them: `tee >(gzip >log.gz)`. Bash does not wait for them. */
#ifndef HUSK_KERNELS_COMMANDS_READERS_H
#define HUSK_KERNELS_COMMANDS_READERS_H

#include <sys/types.h>

/* Counts living processes of a session whose standard input is a pipe without writers: they end by themselves once they
 * have read it. A pipe that still has writers (`server | logger &`) belongs to a background job, which is not waited
 * for. The work is bounded: also 0 if there is too much to examine. The session's leader must have been reaped. `other`
 * is a child of PID 1 in a different session: the kernel. */
unsigned readers_left(pid_t session, pid_t other);

#endif
