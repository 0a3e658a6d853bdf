/* Finds out whether the process that dialled a session's socket is the container's PID 1 or another process that
 * can reach the socket. */
#ifndef HUSK_MANAGER_LINE_DIALER_H
#define HUSK_MANAGER_LINE_DIALER_H

#include <sys/types.h>

#include "base/defs.h"

enum dialer_verdict { DIALER_IS_OTHER, DIALER_IS_PID1, DIALER_IS_UNKNOWN };

/* The pid of the process that dialled, in our pid namespace; 0 if it is not visible there. */
pid_t dialer_pid(int fd);
/* Whether this is the first process of the container with this id. DIALER_IS_UNKNOWN if /proc cannot show it, or
 * the id is "". */
enum dialer_verdict dialer_check(pid_t pid, const char *id);

/* --- pure functions ---------------------------------------------------------------------------------------------- */
/* Parses the text of /proc/PID/status. *ret_first: the process is PID 1 of a pid namespace inside ours. False if
 * the text lacks the pids or the parent. */
bool dialer_read_status(const char *text, bool *ret_first, pid_t *ret_parent);
/* True if the text of /proc/PID/cgroup names the container with this id, in either cgroup version and with any
 * driver. */
bool dialer_in_container(const char *text, const char *id);

#endif
