/* The cookie of a browser that is logged in. It holds a key that was made for this browser (login.c), so removing that
 * key logs the browser out. Scripts cannot read it, and requests from pages of other origins do not have it. */
#ifndef HUSK_API_COOKIE_H
#define HUSK_API_COOKIE_H

#include "api/exchange.h"

/* The value of a cookie of the request; NULL = none. The caller owns it. */
char *cookie_value(const struct exchange *x, const char *name);
/* The key in the request's cookie; NULL = none. The caller owns it. */
char *cookie_key(const struct exchange *x);
/* Answers with 403 and returns false if the request does not come from our own page. Only for requests that have no
 * other key than the cookie's. */
bool cookie_check(struct exchange *x);
/* Adds the field Set-Cookie. key NULL = deletes the cookie. */
void cookie_set(const struct exchange *x, struct http_fields *fields, const char *key);

#endif
