/* Finds the session of a request: in this manager, in another server of the user, or in none, if its server is dead. */
#ifndef HUSK_API_LOOKUP_H
#define HUSK_API_LOOKUP_H

#include "api/exchange.h"

/* Sets x->conversation to the conversation of the session and calls next, now or later; or forwards the request to the
 * server that has the session; or answers. */
void lookup_begin(struct exchange *x, void (*next)(struct exchange *x));
/* The session of the request is here now, though it may have been found by its name or taken over: sets x->session to
 * its full id. */
void lookup_learn(struct exchange *x);

#endif
