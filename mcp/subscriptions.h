/* Subscriptions to exports.
 *
 * The content of an export never changes. A client that subscribes to an export is notified when the same path of
 * the same session is exported again. A client that subscribes to husk://exports/ is notified of every new export.
 * Every export changes the list of resources. In legacy eras resources/subscribe applies to the connection and
 * list_changed is always sent; in 2026-07-28 both are parts of subscriptions/listen. */
#ifndef HUSK_MCP_SUBSCRIPTIONS_H
#define HUSK_MCP_SUBSCRIPTIONS_H

#include "mcp/connection.h"

void subscriptions_bind(struct connection *c);
void subscriptions_release(struct connection *c);

void subscriptions_subscribe(struct connection *c, struct call *call, json_t *params);
void subscriptions_unsubscribe(struct connection *c, struct call *call, json_t *params);

/* Handles the resources of subscriptions/listen. Answers with an error, or calls on_ready, now or later. */
void subscriptions_listen(struct connection *c, struct call *call, json_t *params,
			  void (*on_ready)(struct connection *c, struct call *call));
/* Adds the accepted resources to the acknowledgement. */
void subscriptions_acknowledge(struct connection *c, const struct call *call, json_t *honoured);
/* Notifies the client of new exports. By default a connection is notified of those that it made itself. */
void subscriptions_exported(struct connection *c, const struct copy_result *results, size_t n);
/* Removes the subscriptions of a request that is gone. */
void subscriptions_drop(struct connection *c, const struct call *call);

#endif
