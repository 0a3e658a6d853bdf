/* Finds out which process is at the other end of a unix socket. SO_PEERCRED shows it, except in older gVisors, which
 * return the caller's own credentials. There each end sends a credentials message instead: one byte, to which the
 * system adds its sender. */
#ifndef HUSK_KERNELS_SYSTEM_CREDS_H
#define HUSK_KERNELS_SYSTEM_CREDS_H

#include <sys/socket.h>

#include "base/defs.h"

/* 0, or -ENOTSUP if the system does not know and a credentials message is needed, or -errno. No process here
 * connects to itself, so a process that sees its own pid knows that the answer is wrong. */
int creds_of_peer(int fd, struct ucred *ret);
/* From now on the system adds the sender to each message; call it before the peer may send one. 0 or -errno. */
int creds_expect(int fd);
int creds_send(int fd);
/* Reads the one byte and its sender. -EAGAIN on a non-blocking socket if there is none yet, -EPERM if the sender
 * is not verified, -ECONNRESET if the other end has closed, or -errno. */
int creds_receive(int fd, struct ucred *ret);

#endif
