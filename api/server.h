/* The HTTP API: serves the manager to programs and people. See docs/http.md.
 *
 * A server listens on a unix socket in the state folder for programs of the same user, and with `husk serve` also on
 * TCP for programs with a key. Requests are untrusted: messages, connections, streams and unsent data are bounded. */
#ifndef HUSK_API_SERVER_H
#define HUSK_API_SERVER_H

#include "api/host.h"
#include "base/tls.h"

struct api *api_new(const struct api_spec *spec);
/* First free the manager, or call api_cancel(). Accepts NULL, returns NULL. */
struct api *api_free(struct api *a);

/* Cancels all requests in progress and closes their connections. */
void api_cancel(struct api *a);

/* Each takes the listening socket, on success and on failure. 0 or -errno. */
int api_listen_unix(struct api *a, int fd);
/* origin: "http://127.0.0.1:8765"; requests whose Host differs from its host are refused, unless it is in `hosts`
 * (may be NULL). tls NULL = plain; the caller frees it after the API. */
int api_listen_tcp(struct api *a, int fd, struct tls_context *tls, const char *origin, const struct strv *hosts);
/* A connected client of this process or this user, as if it came from the unix socket. Takes the descriptor. */
void api_serve(struct api *a, int fd);
/* Stops accepting; answers in progress end normally. */
void api_drain(struct api *a);

#endif
