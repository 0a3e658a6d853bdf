/* Requests for a session of another server: they are passed on to its unix socket if it is of this user, or over TCP if
 * it shares the store (peers.h), with bodies, streams of events and WebSockets. */
#ifndef HUSK_API_FORWARD_H
#define HUSK_API_FORWARD_H

#include "api/exchange.h"

/* Looks for the server that has the session x->session, by its full id, and passes the request on. If no server has it,
 * calls here, later: this server may take the session over. The field Husk-Forwarded keeps the other server from
 * passing the request on again. address: where the session's server can be reached from other machines
 * (HUSK_ADVERTISE); NULL or "" = it is not known. */
void forward_begin(struct exchange *x, const char *address, void (*here)(struct exchange *x));

#endif
