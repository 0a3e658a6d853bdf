/* Handles the messages of a connection, independent of how they travel: finds the method of a request, tracks requests
 * in flight, collects the answers of batches, and handles cancellations. It never blocks and never waits for a tool:
 * pings, lists and cancellations are answered while cells run. */
#ifndef HUSK_MCP_MESSAGES_H
#define HUSK_MCP_MESSAGES_H

#include "mcp/connection.h"

struct rpc_message;

struct connection_spec {
	struct loop *loop;
	struct conversation *conversation; /* must stay open until messages_release() or messages_cancel_all() */
	const struct config *config;	   /* must outlive the connection */
	const struct extension *extension; /* must outlive the connection; NULL = none */
	const char *app;		   /* the document of MCP Apps; static; NULL = none */
	const struct connection_ops *ops;
};

/* Fills the caller's memory. The conversation's tasks are taken separately (tasks_take). */
void messages_init(struct connection *c, const struct connection_spec *spec);
/* Drops requests without using the manager, which may be freed already. Sends nothing. */
void messages_release(struct connection *c);
/* Cancels all requests in flight. */
void messages_cancel_all(struct connection *c);
/* Ends subscriptions gracefully, with a result. */
void messages_end_listening(struct connection *c);

/* Handles a message of any kind. Each request in it is answered once, or cancelled; see connection_answer. A single
 * notification or response is not answered. origin is for the transport. */
void messages_handle(struct connection *c, void *origin, const struct rpc_message *m);
/* Why the connection does not accept this batch; NULL = it does. */
const char *messages_batch_problem(const struct connection *c, const json_t *list);

#endif
