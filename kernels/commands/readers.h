/* Processes that still read what a command wrote to them: `tee >(gzip >log.gz)`. Bash does not wait for them. */
#ifndef HUSK_KERNELS_COMMANDS_READERS_H
#define HUSK_KERNELS_COMMANDS_READERS_H

#include "kernels/system/procs.h"

/* Counts living processes of a session whose standard input is a pipe without writers: they end by themselves once they
 * have read it. A pipe that still has writers (`server | logger &`) belongs to a background job, which is not waited
 * for. The work is bounded: also 0 if there is too much to examine. The session's leader must have been reaped. `others`
 * are children of PID 1 in different sessions: the kernels. */
unsigned readers_left(pid_t session, const struct procs_set *others);

#endif
