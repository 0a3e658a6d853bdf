/* Servers on other machines that share this server's store. They connect to each other with TLS, in which both sides
 * prove that they have the store's key. A peer is trusted: its requests say who the caller is. */
#ifndef HUSK_API_PEERS_H
#define HUSK_API_PEERS_H

#include "api/exchange.h"

struct http_client;
struct peer;
struct peers;

/* Starts to accept peers if this server has an address for them (HUSK_ADVERTISE): once the store's key is loaded, which
 * is tried until it succeeds. */
struct peers *peers_new(struct api *api);
/* Call it after http_server_free(). Accepts NULL, returns NULL. */
struct peers *peers_free(struct peers *p);
/* The manager will be freed: no longer uses it. */
void peers_stop(struct peers *p);
/* The server at this address, whose idle connections are kept after peers_put(). NULL if the address is invalid or the
 * store's key is not loaded (links_try()). */
struct peer *peers_take(struct peers *p, const char *address);
/* Free the calls of its client first. Accepts NULL, returns NULL. */
struct peer *peers_put(struct peers *p, struct peer *peer);
struct http_client *peer_client(const struct peer *peer);
/* A request of a peer: takes the caller from its fields. False, after an answer, if they are missing. */
bool peers_accept(struct exchange *x);
/* Peers are also accepted on the listener with this certificate. */
void peers_accept_on(struct peers *p, struct tls_context *tls);

#endif
