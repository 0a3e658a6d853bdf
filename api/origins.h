/* Origins for browsers. Each port of a session has a host name of its own, ID--8080.localhost:8765, below the name of
 * this server. A browser keeps cookies, storage and rights for each origin, so the pages of a session can neither act as
 * the page of Husk nor read what the pages of another session keep.
 *
 * A request with such a Host never reaches the routes of the API. It needs a cookie of this origin, which takes the place
 * of the key that asked for the origin's address (open-port.c). The address has a code that works once, and the answer to
 * it sets the cookie. Both are kept in memory only: after a restart of the server, the address is asked for again. */
#ifndef HUSK_API_ORIGINS_H
#define HUSK_API_ORIGINS_H

#include "api/exchange.h"

#define ORIGIN_CODE_SECONDS 60

/* True for a full session id: host names have no other. */
bool origins_is_id(const char *text);
/* If the Host of the request is the origin of a port, sets x->origin, the route and its captures, and returns true. */
bool origins_match(struct exchange *x);
/* The key that takes the place of the request's cookie; borrowed until the loop continues. NULL: the exchange was
 * answered, because it was for the cookie itself, comes from a page of another origin, or has no cookie. */
const char *origins_enter(struct exchange *x);
/* The address at which a browser of this key reaches the port. Takes the key, which is wiped after use. NULL if this
 * listener has no name for browsers. The caller owns the address. */
char *origins_open(struct exchange *x, uint16_t port, char *key);
/* Forgets all codes and cookies. */
void origins_drop(struct api *api);

#endif
