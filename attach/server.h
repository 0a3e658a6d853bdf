/* Lets other faces use a conversation of this process: serves the manager's calls to programs of the same user.
 *
 * What clients send is hostile: messages, calls, connections and what waits for a slow reader are bounded. Calls of clients and of
 * everybody else never wait for one another, but for the session's own queue. */
#ifndef HUSK_ATTACH_SERVER_H
#define HUSK_ATTACH_SERVER_H

#include "manager/manager.h"

struct attach_server;

/* Listens in the state folder from the conversation's first session on, unless HUSK_ATTACH is off. config must outlive it. */
struct attach_server *attach_server_new(struct loop *loop, const struct config *config, struct conversation *c);
/* Serves one who is connected already: takes the descriptor, on success and on failure. HUSK_ATTACH does not matter. -1 with errno. */
int attach_serve(struct attach_server *s, int fd);
/* Drops its clients and their calls without touching the conversation, which has to be closed, or its manager freed, before. The socket is
 * removed. Accepts NULL, returns NULL. */
struct attach_server *attach_server_free(struct attach_server *s);

#endif
