/* Who has dialled: a container's own first process, or somebody else who can reach its socket. */
#ifndef HUSK_MANAGER_LINE_PEER_H
#define HUSK_MANAGER_LINE_PEER_H

#include <sys/types.h>

#include "base/defs.h"

enum peer_verdict { PEER_OTHER, PEER_IS_IT, PEER_UNKNOWN };

/* The pid of whoever dialled, as this process sees it; 0 if it cannot see it. */
pid_t peer_pid(int fd);
/* Is it the first process of the container with this id? PEER_UNKNOWN where /proc does not tell, or the id is "". */
enum peer_verdict peer_check(pid_t pid, const char *id);

/* --- the pure parts ---------------------------------------------------------------------------------------------- */
/* Of the text of /proc/PID/status. False if it does not say what namespaces the process is in. */
bool peer_read_status(const char *text, bool *ret_first, pid_t *ret_parent);
/* Of the text of /proc/PID/cgroup, of either version and any driver. */
bool peer_in_container(const char *text, const char *id);

#endif
