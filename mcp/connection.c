#include "mcp/connection.h"

#include "base/json.h"
#include "mcp/result.h"

void connection_notify_text(struct connection *c, const struct call *call, const struct buf *text)
{
	/* A message that is too long for the client is dropped. */
	if (!c->freeing && text->len <= RESULT_LINE_MAX)
		c->ops->send(c, call, text);
}

void connection_notify(struct connection *c, const struct call *call, json_t *message)
{
	AUTO(buf_release) struct buf text = { 0 };
	if (!c->freeing)
		json_print(&text, message);
	json_decref(message);
	connection_notify_text(c, call, &text);
}

void connection_notify_if_idle(struct connection *c, const struct call *call, json_t *message)
{
	if (c->freeing || c->ops->is_slow(c, call))
		json_decref(message);
	else
		connection_notify(c, call, message);
}
