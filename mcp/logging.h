/* Log messages for clients of legacy eras that request them with logging/setLevel: the lines that husk also writes to
 * stderr, from that level on. 2026-07-28 deprecates them in favour of stderr, so modern clients get none. */
#ifndef HUSK_MCP_LOGGING_H
#define HUSK_MCP_LOGGING_H

#include "mcp/connection.h"

/* The method logging/setLevel. */
void logging_set_level(struct connection *c, struct call *call, json_t *params);
/* Stops sending log messages. */
void logging_release(struct connection *c);

#endif
