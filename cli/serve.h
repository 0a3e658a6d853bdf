/* `husk mcp`: the MCP server on stdin and stdout. */
#ifndef HUSK_CLI_SERVE_H
#define HUSK_CLI_SERVE_H

#include "cli/options.h"

/* Serves until the client hangs up or a signal comes. Returns the exit code. */
int serve_run(const struct options *options);

#endif
