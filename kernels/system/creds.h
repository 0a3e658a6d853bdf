/* Who is at the other end of a unix socket. SO_PEERCRED tells, except in older gVisors, which answer with the
 * credentials of who asks. There each end sends a credentials message instead: one byte, to which the system adds its sender. */
#ifndef HUSK_KERNELS_SYSTEM_CREDS_H
#define HUSK_KERNELS_SYSTEM_CREDS_H

#include <sys/socket.h>

#include "base/defs.h"

/* 0, or -ENOTSUP if the system cannot tell and a credentials message is needed, or -errno. No process here dials itself, so a
 * process that sees its own pid knows that the answer is wrong. */
int creds_of_peer(int fd, struct ucred *ret);
/* From now on the system adds a message's sender; to be called before the peer may send one. 0 or -errno. */
int creds_expect(int fd);
int creds_send(int fd);
/* Takes the one byte, and who sent it. -EAGAIN on a non-blocking socket if there is none yet, -EPERM if nobody vouches for its
 * sender, -ECONNRESET if the other end has left, or -errno. */
int creds_receive(int fd, struct ucred *ret);

#endif
