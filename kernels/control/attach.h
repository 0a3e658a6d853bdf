/* `husk-client attach`: a bridge between its stdio (the engine's exec) and PID 1. */
#ifndef HUSK_KERNELS_CONTROL_ATTACH_H
#define HUSK_KERNELS_CONTROL_ATTACH_H

#include "base/defs.h"

/* Copies until either side ends. Returns the exit status: 0, or 1 after one sentence on stderr if PID 1 is
 * missing, is another process, or rejects the connection. beside: this process is in another container of the same
 * pod, so PID 1 is in a pid namespace that it cannot see. */
int attach_run(bool beside);

#endif
