/* The unix socket of a server, for programs of the same user: `husk repl`, `husk cp`, curl. It appears in the state
 * folder with the conversation's first session, and the API behind it is made when the first client connects. */
#ifndef HUSK_API_LOCAL_H
#define HUSK_API_LOCAL_H

#include "api/host.h"

struct local_server;

/* Listens once the conversation of the spec has a session, unless HUSK_ATTACH is off. api: an API that exists already and
 * is used instead of a new one, and the server listens at once; NULL = none. */
struct local_server *local_server_new(const struct api_spec *spec, struct api *api);
/* Connects a client of this process, whatever HUSK_ATTACH is. Returns its end of the connection, or -errno. */
int local_server_connect(struct local_server *s);
/* Removes the socket and closes all connections. manager_gone: the manager was freed, so requests are dropped; else they
 * are cancelled. Accepts NULL, returns NULL. */
struct local_server *local_server_free(struct local_server *s, bool manager_gone);

#endif
