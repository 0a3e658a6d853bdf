/* Servers on other machines that share this server's store. A request that one passes on to another proves that its
 * sender has the store's key, and the answer to its first request proves the same of the receiver. Times bound how long
 * a proof can be used; the receiver's address in it keeps it from being used elsewhere. */
#ifndef HUSK_API_PEERS_H
#define HUSK_API_PEERS_H

#include "api/exchange.h"

#define PEERS_FIELD "Husk-Server"
#define PEERS_NONCE_SIZE 33

/* Adds the proof to a request that goes to the server at this address; fields already has the other fields about the
 * caller. The key must be loaded (links_prepare()). */
void peers_sign(const struct exchange *x, struct http_fields *fields, const char *address, const char *method,
		const char *target, char nonce[PEERS_NONCE_SIZE]);
/* Checks the proof of a request that has this field, and takes the caller from it. Calls next, or answers with 401. The answer
 * to the request will have a proof too. */
void peers_check(struct exchange *x, void (*next)(struct exchange *x));
/* True if the answer proves that the receiver of this nonce has the key. */
bool peers_is_proven(const struct exchange *x, const struct http_head *head, const char *nonce);

#endif
