/* Who is at the other end of a unix socket. SO_PEERCRED tells, except in older gVisors, which answer with the
 * credentials of who asks. There both ends show themselves by a letter instead: one byte, to which the system adds its sender. */
#ifndef HUSK_KERNELS_SYSTEM_CREDS_H
#define HUSK_KERNELS_SYSTEM_CREDS_H

#include <sys/socket.h>

#include "base/defs.h"

/* 0, or -ENOTSUP if the system cannot tell and letters have to do, or -errno. No process here ever dials itself: whoever sees its
 * own pid there is not told the truth. */
int creds_of_peer(int fd, struct ucred *ret);
/* From now on the system adds a letter's sender; to be called before the peer may send one. 0 or -errno. */
int creds_expect_letter(int fd);
int creds_send_letter(int fd);
/* Takes the one byte, and who sent it. -EAGAIN on a non-blocking socket if there is none yet, -EPERM if nobody vouches for its
 * sender, -ECONNRESET if the other end has left, or -errno. */
int creds_take_letter(int fd, struct ucred *ret);

#endif
