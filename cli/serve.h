/* `husk serve`: the API and MCP over HTTP. */
#ifndef HUSK_CLI_SERVE_H
#define HUSK_CLI_SERVE_H

#include "cli/options.h"

struct extension;

/* Serves until a signal arrives. Returns the exit code. extension: see mcp/extension.h; NULL in husk itself. */
int serve_run(const struct options *options, const struct extension *extension);

#endif
