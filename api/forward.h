/* Requests for a session of another server of this user: they are passed on to that server's unix socket, with bodies,
 * streams of events and WebSockets. */
#ifndef HUSK_API_FORWARD_H
#define HUSK_API_FORWARD_H

#include "api/exchange.h"

/* Looks for the server that has the session x->session, by its full id, and passes the request on. If no server has it,
 * calls here, later: this server may take the session over. The field Husk-Forwarded keeps the other server from
 * passing the request on again. */
void forward_begin(struct exchange *x, void (*here)(struct exchange *x));

#endif
