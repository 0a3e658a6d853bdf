/* The kernel's process: a separate process group in the adapter's session. So an interrupt reaches the kernel only
 * when the adapter sends it, and PID 1's kill reaches both. */
#ifndef HUSK_KERNELS_JUPYTER_PROCESS_H
#define HUSK_KERNELS_JUPYTER_PROCESS_H

#include <sys/types.h>

#include "base/fail.h"
#include "base/strv.h"

/* Starts argv (looked up in the PATH) with this process's environment plus `env` (NAME=value), and with these
 * descriptors as stdout and stderr (-1 = inherited). The kernel is killed when this process ends. Call it before
 * threads are started. Returns the pid, or -1. */
pid_t process_start(struct strv *argv, const struct strv *env, const int out_fds[2], struct fail *f);
/* Ends this process as the kernel ended: by the same signal, or with the same status. */
_Noreturn void process_end_like(int wait_status);

#endif
