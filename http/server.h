/* An HTTP/1.1 server: listening sockets, their connections, and the limits that hold for all of them. Each connection
 * handles one request at a time; pipelined requests wait. */
#ifndef HUSK_HTTP_SERVER_H
#define HUSK_HTTP_SERVER_H

#include "base/loop.h"
#include "base/tls.h"
#include "http/limits.h"

struct http_server;

struct http_server *http_server_new(struct loop *loop, const struct http_server_spec *spec);
/* Closes all connections; their requests are reported as closed. Accepts NULL, returns NULL. */
struct http_server *http_server_free(struct http_server *s);
/* Takes ownership of the listening socket, on success and on failure. tls NULL = plain; otherwise the caller keeps it
 * and frees it after the server. http_request_tag() returns `tag` for requests of this listener. 0 or -errno. */
int http_server_listen(struct http_server *s, int fd, struct tls_context *tls, void *tag);
/* Takes ownership of a connected socket, as if a listener had accepted it. */
void http_server_adopt(struct http_server *s, int fd, struct tls_context *tls, void *tag);
/* Programs that have the secret of this context may connect over TLS to all plain listeners from now on
 * (tls_context_shared()); http_request_is_peer() is true for their requests. The caller frees the context after the
 * server. A listener with TLS accepts them if its context does. */
void http_server_accept_peers(struct http_server *s, struct tls_context *peers);
/* Closes all connections; their requests are reported as closed. */
void http_server_close(struct http_server *s);
/* Stops accepting. Idle connections are closed; the others are closed after their answer. */
void http_server_drain(struct http_server *s);
unsigned http_server_connections(const struct http_server *s);
/* Bytes of answers that clients have not taken yet. */
size_t http_server_queued(const struct http_server *s);

#endif
