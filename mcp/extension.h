/* Tools, prompts, resources and tasks that a program adds to the server's own. The shipped server has none. The
 * program for the conformance suite adds its fixtures (tests/conformance/fixtures.h). */
#ifndef HUSK_MCP_EXTENSION_H
#define HUSK_MCP_EXTENSION_H

#include "mcp/connection.h"

struct extension {
	/* Called before the server's own method (call->method). Returns true if the extension answers the request, now
	 * or later. */
	bool (*request)(void *ctx, struct connection *c, struct call *call, json_t *params);
	/* Adds the extension's entries to the result of a list method. */
	void (*list)(void *ctx, const char *method, json_t *result);
	/* True if clients can subscribe to the resource. */
	bool (*has_resource)(void *ctx, const char *uri);
	/* Called when the server is being freed, before its loop is. */
	void (*close)(void *ctx);
	void *ctx;
};

static inline void extension_list(const struct connection *c, const struct call *call, json_t *result)
{
	if (c->extension)
		c->extension->list(c->extension->ctx, call->method, result);
}

#endif
