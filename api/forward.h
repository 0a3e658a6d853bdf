/* Requests that another server must answer: they are passed on to its unix socket if it is of this user, or over TCP if
 * it shares the store (peers.h), with bodies, streams of events and WebSockets. */
#ifndef HUSK_API_FORWARD_H
#define HUSK_API_FORWARD_H

#include "api/exchange.h"

/* Looks for the server that has the session x->session, by its full id, and passes the request on. If no server has it,
 * calls here, later: this server may take the session over. The field Husk-Forwarded keeps the other server from
 * passing the request on again. address: where the session's server can be reached from other machines
 * (HUSK_ADVERTISE); NULL or "" = it is not known. */
void forward_begin(struct exchange *x, const char *address, void (*here)(struct exchange *x));

/* A request to a peer. Strings are borrowed during the call. */
struct forward_spec {
	const char *address;
	const char *probe;		  /* target of a GET that the right server answers with 200 */
	const char *target;		  /* of the request at the other server */
	const struct http_fields *fields; /* added to it; NULL = none */
	const void *body;		  /* NULL = the body is still to be read from the request */
	size_t n;
	void (*here)(struct exchange *x); /* the other server does not answer, or does not have it */
};
/* Passes the request on if the other server answers the probe; else calls here, later. */
void forward_to(struct exchange *x, const struct forward_spec *spec);
/* Another server has passed on a request to the origin of a port (origins.h): that origin, and the target as the browser
 * wrote it. NULL = it is another request. */
const char *forward_port_origin(const struct exchange *x);
const char *forward_port_target(const struct exchange *x);
/* The fields that tell the other server about the caller. */
void forward_mark(const struct exchange *x, struct http_fields *fields);

#endif
