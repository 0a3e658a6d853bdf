/* Finds out which process a TCP connection over loopback comes from. (For a unix socket, SO_PEERCRED gives the
 * answer.) */
#ifndef HUSK_KERNELS_CELLS_TCP_OWNER_H
#define HUSK_KERNELS_CELLS_TCP_OWNER_H

#include <sys/types.h>

#include "base/defs.h"

/* True if the process has the other end of this accepted IPv4 connection among its descriptors. */
bool tcp_belongs_to(int fd, pid_t pid);

#endif
