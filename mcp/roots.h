/* The roots of a client of a legacy era: folders of the host that it has open, and that a model may import from. They are asked for
 * when an import first names a path of the host, and again after the client says that they have changed. */
#ifndef HUSK_MCP_ROOTS_H
#define HUSK_MCP_ROOTS_H

#include "mcp/connection.h"

/* After `initialize`: whether the client has any. */
void roots_declare(struct connection *c, const json_t *capabilities);
/* They must be asked for again. */
void roots_changed(struct connection *c);
/* True if the call waits until the client has told its roots, or had its time; it then goes on by tools_call(). */
bool roots_hold(struct connection *c, struct call *call, const struct tool *tool, json_t *args);
/* A response to a request of ours; others are ignored. */
void roots_answered(struct connection *c, const json_t *message);
void roots_release(struct connection *c);

/* The path of a file: URI, absolute and decoded; NULL if it is not one of this host. The caller owns it. */
char *roots_path(const char *uri);

#endif
