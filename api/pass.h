/* Passes a request on to another HTTP server and its answer back, with bodies, streams of events, and a change of
 * protocol such as a WebSocket's. */
#ifndef HUSK_API_PASS_H
#define HUSK_API_PASS_H

#include "api/exchange.h"
#include "http/client.h"

struct pass;

struct pass_spec {
	struct http_client *client;	  /* must outlive the pass */
	const char *target;		  /* borrowed during the call */
	const struct http_fields *fields; /* added to the request's own; borrowed during the call */
	/* Passes a field on: adds it to `to` as it is, changed, or not at all. The name is in lower case. */
	void (*pass_field)(void *ctx, struct http_fields *to, const char *name, const char *value, bool of_answer);
	void *ctx;
	const struct buf *body;			 /* of the request, if it was read already; NULL = it is read here */
	const struct http_fields *answer_fields; /* added to the answer; must outlive the pass. NULL = none */
	const char *lost, *lost_hint;		 /* the problem, if there is no answer */
};

/* Counts a request that asks for a stream or another protocol as a stream of its key. False: its key has too many, and the
 * exchange was answered. */
bool pass_admit(struct exchange *x);
/* Answers the exchange later. The exchange's `closed` function frees the pass. */
struct pass *pass_new(struct exchange *x, const struct pass_spec *spec);
/* Accepts NULL, returns NULL. */
struct pass *pass_free(struct pass *p);

#endif
