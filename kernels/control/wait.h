/* `husk-client wait`: the first process of the container beside PID 1's in a pod. The pod ends when both have ended. */
#ifndef HUSK_KERNELS_CONTROL_WAIT_H
#define HUSK_KERNELS_CONTROL_WAIT_H

/* Waits until PID 1's socket has appeared and is gone again. Returns the exit status: 0, or 1 after one sentence on
 * stderr if it does not appear, or the list of sockets cannot be read, for two minutes. SIGTERM and SIGINT end the
 * process with 0. */
int wait_run(void);

#endif
