/* The roots of a client of a legacy era: folders that it has open on the host, from which a model may import. They
 * are requested when an import first names a path of the host, and again after the client reports a change. */
#ifndef HUSK_MCP_ROOTS_H
#define HUSK_MCP_ROOTS_H

#include "mcp/connection.h"

/* After `initialize`: notes whether the client has roots. */
void roots_declare(struct connection *c, const json_t *capabilities);
/* The roots must be requested again. */
void roots_changed(struct connection *c);
/* True if the request waits for the client's roots, or for the time limit; it then continues with tools_call(). */
bool roots_hold(struct connection *c, struct call *call, const struct tool *tool, json_t *args);
/* Handles a response to a request of ours; ignores others. */
void roots_answered(struct connection *c, const json_t *message);
void roots_release(struct connection *c);

/* The path of a file: URI, absolute and decoded; NULL if the URI is not of this host. The caller owns it. */
char *roots_path(const char *uri);

#endif
