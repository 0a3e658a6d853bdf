/* The other processes of the container, by session. */
#ifndef HUSK_KERNELS_SYSTEM_PROCS_H
#define HUSK_KERNELS_SYSTEM_PROCS_H

#include <sys/types.h>

#include "base/defs.h"

/* Living processes of a session (zombies do not count). */
unsigned procs_count_session(pid_t sid);
/* Names the processes of the sandbox's user whose session is not `known`, as "sleep (pid 41), node (pid 52)"; NULL if there are none.
 * A name is the process's own choice: printable ASCII is left of it. The caller frees it. */
char *procs_name_others(bool (*known)(pid_t session, const void *ctx), const void *ctx);
/* SIGKILL to the group, then to every process of the session until none is found: a group dies at once, processes that
 * fork while we look are met in a later round. Bounded; true if none is left. */
bool procs_kill_session(pid_t sid);
/* SIGKILL to every process but PID 1 (and attach, which is another user's). Atomic in the kernel: no fork escapes.
 * Does nothing unless the caller is pid 1. */
void procs_kill_all(void);
/* The same, and waits for their deaths, for a bounded time: true if none of the sandbox's user is left. A process that was killed may
 * still finish the system call that it is in. */
bool procs_end_all(void);
/* SIGKILL to every process but PID 1, attach and `spare` (0 = none). All are stopped first, round by round, until no new
 * one is met: at the process limit a fork bomb that is stopped can't fork on while its members die one by one. */
void procs_kill_others(pid_t spare);

#endif
