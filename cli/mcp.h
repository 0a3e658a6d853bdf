/* `husk mcp`: the MCP server on stdin and stdout. */
#ifndef HUSK_CLI_MCP_H
#define HUSK_CLI_MCP_H

#include "cli/options.h"

struct extension;

/* Serves until the client disconnects or a signal arrives. Returns the exit code. extension: see
 * mcp/extension.h; NULL in husk itself. */
int mcp_run(const struct options *options, const struct extension *extension);

#endif
