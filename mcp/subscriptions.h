/* Subscriptions to exports.
 *
 * The content of an export never changes. A client that subscribes to one is told when the same path of the same session is exported
 * again, as another export; one that subscribes to husk://exports/ is told of every new export. The list of resources changes with every
 * export. In legacy eras resources/subscribe is the connection's own and list_changed is sent unasked; in 2026-07-28 both are parts of
 * subscriptions/listen. */
#ifndef HUSK_MCP_SUBSCRIPTIONS_H
#define HUSK_MCP_SUBSCRIPTIONS_H

#include "mcp/connection.h"

void subscriptions_bind(struct connection *c);
void subscriptions_release(struct connection *c);

void subscriptions_subscribe(struct connection *c, struct call *call, json_t *params);
void subscriptions_unsubscribe(struct connection *c, struct call *call, json_t *params);

/* The resources' part of subscriptions/listen. It answers with an error, or calls on_ready, now or later. */
void subscriptions_listen(struct connection *c, struct call *call, json_t *params,
			  void (*on_ready)(struct connection *c, struct call *call));
/* Adds to what the acknowledgement lists what was honoured of it. */
void subscriptions_acknowledge(struct connection *c, const struct call *call, json_t *honoured);
/* The call is gone, and with it what it subscribed to. */
void subscriptions_drop(struct connection *c, const struct call *call);

#endif
