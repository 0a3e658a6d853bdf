/* Requests to a client of a legacy era: elicitation/create, roots/list, sampling/createMessage. In 2026-07-28 the
 * server sends no requests to the client (see inputs.h). */
#ifndef HUSK_MCP_CLIENT_REQUEST_H
#define HUSK_MCP_CLIENT_REQUEST_H

#include "mcp/connection.h"

struct client_request;

/* Receives the client's result, borrowed; NULL = the client answered with an error, or not in time. The request has
 * been freed. */
typedef void client_request_fn(void *ctx, json_t *result);

/* Takes params, which may be NULL. The client gets the request with the messages that belong to `call` (NULL = to no
 * request). With timeout_ms (0 = none) the request is withdrawn after that time. fn is called once, later, unless the
 * request is cancelled before. */
struct client_request *client_request_send(struct connection *c, const struct call *call, const char *method,
					   json_t *params, uint64_t timeout_ms, client_request_fn *fn, void *ctx);
/* Withdraws the request with notifications/cancelled; fn is not called. Accepts NULL, returns NULL. */
struct client_request *client_request_cancel(struct client_request *r, const struct call *call);

/* Handles a response of the client. Ignores a response to a request that is not open. */
void client_requests_answered(struct connection *c, const json_t *message);
void client_requests_bind(struct connection *c);
/* Called when the connection is gone: sends nothing and calls no fn. */
void client_requests_release(struct connection *c);

#endif
