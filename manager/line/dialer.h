/* Identifies the process that dialled: a container's PID 1, or another process that can reach its socket. */
#ifndef HUSK_MANAGER_LINE_DIALER_H
#define HUSK_MANAGER_LINE_DIALER_H

#include <sys/types.h>

#include "base/defs.h"

enum dialer_verdict { DIALER_IS_OTHER, DIALER_IS_PID1, DIALER_IS_UNKNOWN };

/* The pid of the process that dialled, as this process sees it; 0 if it is not visible. */
pid_t dialer_pid(int fd);
/* Whether this is the first process of the container with this id. DIALER_IS_UNKNOWN if /proc cannot show it, or
 * the id is "". */
enum dialer_verdict dialer_check(pid_t pid, const char *id);

/* --- the pure parts ---------------------------------------------------------------------------------------------- */
/* Parses the text of /proc/PID/status. False if it lacks the process's namespaces. */
bool dialer_read_status(const char *text, bool *ret_first, pid_t *ret_parent);
/* Parses the text of /proc/PID/cgroup, of either version and any driver. */
bool dialer_in_container(const char *text, const char *id);

#endif
