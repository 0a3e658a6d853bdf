/* Lets other faces use a conversation of this process: serves the manager's requests to programs of the same user.
 *
 * Clients are untrusted: messages, requests, connections and data for a slow reader are bounded. Requests of
 * clients and of other callers wait for each other only in the session's queue. */
#ifndef HUSK_ATTACH_SERVER_H
#define HUSK_ATTACH_SERVER_H

#include "manager/manager.h"

struct attach_server;

/* Listens in the state folder once the conversation has a session, unless HUSK_ATTACH is off. config must outlive
 * the server. */
struct attach_server *attach_server_new(struct loop *loop, const struct config *config, struct conversation *c);
/* Serves a connected client: takes the descriptor on success and on failure, whatever HUSK_ATTACH is. -1 with
 * errno. */
int attach_serve(struct attach_server *s, int fd);
/* Drops the clients and their requests without touching the conversation, and removes the socket. First close the
 * conversation or free its manager. Accepts NULL, returns NULL. */
struct attach_server *attach_server_free(struct attach_server *s);

#endif
