/* The kernel's process: a group of its own in our session, so that an interrupt reaches it when we say so and PID 1's kill
 * reaches both. */
#ifndef HUSK_KERNELS_JUPYTER_PROCESS_H
#define HUSK_KERNELS_JUPYTER_PROCESS_H

#include <sys/types.h>

#include "base/fail.h"
#include "base/strv.h"

/* Starts argv (looked up in the PATH) with our environment and `env` (NAME=value) on top, and with these as its
 * stdout and stderr (-1 = ours). It ends with us, however we do.
 * Called before there are threads. Returns its pid, or -1. */
pid_t process_start(struct strv *argv, const struct strv *env, const int out_fds[2], struct fail *f);
/* Ends this process in the way in which that one did: by the same signal, or with the same status. */
_Noreturn void process_end_like(int wait_status);

#endif
