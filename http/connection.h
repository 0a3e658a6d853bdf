/* One connection of the server: parses requests and serializes their answers. Private to http/. */
#ifndef HUSK_HTTP_CONNECTION_H
#define HUSK_HTTP_CONNECTION_H

#include "base/list.h"
#include "http/channel.h"
#include "http/limits.h"

/* The part of a server that its connections use. */
struct http_host {
	struct loop *loop;
	struct http_server_spec spec;
	struct list connections;
	unsigned n;
	bool draining;
	struct tls_context *peers; /* http_server_accept_peers(); NULL = none */
	int64_t date_at;	   /* the second that `date` names */
	char date[40];
};

struct http_connection;

/* Takes ownership of the socket, on success and on failure; a socket that cannot be used is closed. */
void http_connection_new(struct http_host *host, int fd, struct tls_context *tls, void *tag);
/* For a connection above the limit: answers 503 and closes it. */
void http_connection_refuse(struct http_host *host, int fd, struct tls_context *tls);
/* Closes the connection of this owner (NULL = of any) that has waited longest for the next request, or for the rest of
 * its head. False if all of them work on a request. */
bool http_connections_evict(struct http_host *host, const char *owner);
/* Closes all connections; requests in progress are reported as closed. */
void http_connections_close(struct http_host *host);
void http_connections_drain(struct http_host *host);
size_t http_connections_queued(const struct http_host *host);

#endif
