/* Requests with an Idempotency-Key: a client that repeats one gets the first answer, for 24 hours, also from the next
 * server. An answer with a 2xx status is stored before it is sent. After any other answer the request may be
 * repeated. */
#ifndef HUSK_API_REPLAY_H
#define HUSK_API_REPLAY_H

#include "api/exchange.h"

/* Calls next(), now or later; or answers as the first request was answered; or with 409 if the first one is under way,
 * and 422 if it was another request. body: what the client sent, or a text that is the same for the same request. next()
 * has the first effect of the request. */
void replay_begin(struct exchange *x, const void *body, size_t n, void (*next)(struct exchange *x));
/* True if the client has sent an Idempotency-Key that counts. */
bool replay_is_wanted(const struct exchange *x);
/* The request has taken effect: if the client leaves before the real answer, a repeated request gets this one. Has no
 * effect without an Idempotency-Key. */
void replay_note(struct exchange *x, int status, const char *location, const char *body);

#endif
