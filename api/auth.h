/* Decides who makes a request and whether it may: the listener, Host, Origin and the key. */
#ifndef HUSK_API_AUTH_H
#define HUSK_API_AUTH_H

#include "api/exchange.h"

/* Fills x->caller and calls next, now or later; or answers the exchange. */
void auth_check(struct exchange *x, void (*next)(struct exchange *x));
/* The text of the request's key; NULL = it has none. The caller owns it. */
char *auth_key_text(const struct exchange *x);
/* Checks the scope of the route. Answers with 403 and returns false if the caller lacks it. */
bool auth_allows(struct exchange *x);

#endif
