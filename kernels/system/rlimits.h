/* Limits of each process that PID 1 sets itself where the engine has no setting for them, as in a pod. */
#ifndef HUSK_KERNELS_SYSTEM_RLIMITS_H
#define HUSK_KERNELS_SYSTEM_RLIMITS_H

#include "base/defs.h"

/* For this process and those that it starts: processes of its user, and the size of a file in bytes. 0 = not limited.
 * If one of them is given, open files and core dumps are limited too. A lower limit stays. 0 or -errno. */
int rlimits_set(uint64_t pids, uint64_t file_size);

#endif
