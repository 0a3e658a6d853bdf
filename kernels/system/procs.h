/* The other processes of the container, by process session. */
#ifndef HUSK_KERNELS_SYSTEM_PROCS_H
#define HUSK_KERNELS_SYSTEM_PROCS_H

#include <sys/types.h>

#include "base/defs.h"

/* Counts living processes of a process session (zombies do not count). */
unsigned procs_count_session(pid_t sid);
/* Lists the sandbox user's processes whose process session is not `known`, as "sleep (pid 41), node (pid 52)";
 * NULL if there are none. A process chooses its own name, so only printable ASCII is kept. The caller frees it. */
char *procs_name_others(bool (*known)(pid_t session, const void *ctx), const void *ctx);
/* Sends SIGKILL to the group, then to every process of the session until none is found: a group dies at once, and
 * processes that fork during a scan are found in a later round. Bounded; true if none is left. */
bool procs_kill_session(pid_t sid);
/* Sends SIGKILL to every process but PID 1 (and attach, which has another user). Atomic in the kernel: no fork
 * escapes. Does nothing unless the caller is pid 1. */
void procs_kill_all(void);
/* Like procs_kill_all(), but waits until the processes are dead, for a bounded time. True if no process of the sandbox
 * user is left. Until then, a killed process may still finish its current system call. */
bool procs_end_all(void);
/* Some processes, such as the interpreters. */
struct procs_set {
	bool (*has)(pid_t pid, const void *ctx);
	const void *ctx;
};

/* Sends SIGKILL to every process but PID 1, attach and those that are spared. All are stopped first, round by round,
 * until no new one is found: at the process limit a stopped fork bomb cannot fork while its processes die one by
 * one. */
void procs_kill_others(const struct procs_set *spared);

#endif
