/* How servers are found: their sockets are in `attach/` of the state folder, which only its user can enter. Only a
 * connection shows whether a server is behind a socket. */
#ifndef HUSK_API_SOCKETS_H
#define HUSK_API_SOCKETS_H

#include "base/strv.h"
#include "manager/manager.h"

/* Limit of sockets to try. */
#define SOCKETS_MAX 256

/* Returns a listening socket with a unique name, or -errno. The caller owns *ret_path. Also removes sockets of
 * servers that have ended. */
int sockets_listen(const struct config *config, char **ret_path);
/* The paths of all sockets. */
void sockets_list(const struct config *config, struct strv *ret);
/* Connects only to a process of this user. Returns a descriptor or -errno: -ECONNREFUSED = the server has ended,
 * -EAGAIN = it accepts no connections now, -EPERM = it belongs to another user. */
int sockets_dial(const char *path);
/* True if the other end of a connection is a process of this user. */
bool sockets_is_own(int fd);

#endif
