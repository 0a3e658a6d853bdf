/* Which fields of a request reach a server in a session, and which of its answer reach the client. */
#ifndef HUSK_API_PORT_FIELDS_H
#define HUSK_API_PORT_FIELDS_H

#include "http/fields.h"

struct port_names {
	const char *server; /* what the server sees as its own: "http://localhost:8080" */
	const char *origin; /* what the browser sees: "http://ID--8080.localhost:8765" */
};

/* For programs with a key (struct pass_spec.pass_field). An answer of the session's server at an address of ours must not
 * change how a browser treats that address. */
void port_fields_for_program(void *ctx, struct http_fields *to, const char *name, const char *value, bool of_answer);
/* For a browser at the origin of the port; ctx is a struct port_names. The server sees requests as if the browser were
 * beside it, since many servers accept no other Host and Origin than localhost. */
void port_fields_for_browser(void *ctx, struct http_fields *to, const char *name, const char *value, bool of_answer);
/* The same for a server that passes the request on to the server of the session: the fields that are ours are removed. */
void port_fields_forward(struct http_fields *to, const char *name, const char *value);

#endif
