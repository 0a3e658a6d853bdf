/* Requests with an Idempotency-Key: a client that repeats one gets the first answer, for 24 hours, also from the next
 * server. An answer with a 2xx status is stored before it is sent. After any other answer the request may be
 * repeated. */
#ifndef HUSK_API_REPLAY_H
#define HUSK_API_REPLAY_H

#include "api/exchange.h"

/* Calls the handler of the route, now or later; or answers as the first request was answered; or with 409 if the first
 * one is under way, and 422 if it was another request. body: what the client sent. */
void replay_begin(struct exchange *x, const void *body, size_t n);
/* The request has taken effect: if the client leaves before the real answer, a repeated request gets this one. Has no
 * effect without an Idempotency-Key. */
void replay_note(struct exchange *x, int status, const char *location, const char *body);

#endif
