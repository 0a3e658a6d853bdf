/* Where servers are found: their sockets in `attach/` of the state folder, which only its user can enter. A name there is worth what
 * answers behind it. */
#ifndef HUSK_ATTACH_SOCKETS_H
#define HUSK_ATTACH_SOCKETS_H

#include "base/strv.h"
#include "manager/manager.h"

/* At most so many are looked at. */
#define SOCKETS_MAX 256

/* A listening socket with a name of its own, which is *ret_path: the caller's. Also sweeps those of servers that have ended. A
 * descriptor or -errno. */
int sockets_listen(const struct config *config, char **ret_path);
/* The paths of all that are there. */
void sockets_list(const struct config *config, struct strv *ret);
/* Connects, to a process of this user alone. A descriptor or -errno: -ECONNREFUSED = nobody is there any more, -EAGAIN = it accepts
 * nobody at the moment, -EPERM = it is somebody else's. */
int sockets_dial(const char *path);
/* True if the other end of a connection is a process of this user. */
bool sockets_is_own(int fd);

#endif
