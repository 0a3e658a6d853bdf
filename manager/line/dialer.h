/* Who has dialled: a container's own first process, or somebody else who can reach its socket. */
#ifndef HUSK_MANAGER_LINE_DIALER_H
#define HUSK_MANAGER_LINE_DIALER_H

#include <sys/types.h>

#include "base/defs.h"

enum dialer_verdict { DIALER_IS_OTHER, DIALER_IS_PID1, DIALER_IS_UNKNOWN };

/* The pid of whoever dialled, as this process sees it; 0 if it cannot see it. */
pid_t dialer_pid(int fd);
/* Is it the first process of the container with this id? DIALER_IS_UNKNOWN where /proc does not tell, or the id is "". */
enum dialer_verdict dialer_check(pid_t pid, const char *id);

/* --- the pure parts ---------------------------------------------------------------------------------------------- */
/* Of the text of /proc/PID/status. False if it does not say what namespaces the process is in. */
bool dialer_read_status(const char *text, bool *ret_first, pid_t *ret_parent);
/* Of the text of /proc/PID/cgroup, of either version and any driver. */
bool dialer_in_container(const char *text, const char *id);

#endif
