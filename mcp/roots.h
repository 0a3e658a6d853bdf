/* The roots of a client of a legacy era: folders that it has open on the host, from which a model may import. They
 * are requested when an import first names a path of the host, and again after the client reports a change. */
#ifndef HUSK_MCP_ROOTS_H
#define HUSK_MCP_ROOTS_H

#include "mcp/connection.h"

/* Called after `initialize`: records whether the client has roots. */
void roots_declare(struct connection *c, const json_t *capabilities);
/* Makes the next import request the roots again. */
void roots_changed(struct connection *c);
/* Returns true if the request must wait for the client's roots. It continues with tools_call() when they arrive or the
 * time limit is reached. */
bool roots_hold(struct connection *c, struct call *call, const struct tool *tool, json_t *args);
void roots_bind(struct connection *c);
void roots_release(struct connection *c);

/* The absolute path in a file: URI, decoded; NULL if the URI does not name a path of this host. The caller owns it. */
char *roots_path(const char *uri);

#endif
