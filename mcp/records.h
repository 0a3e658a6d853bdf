/* husk exports, husk history: what the store remembers, as a table for people or as JSON for scripts. */
#ifndef HUSK_MCP_RECORDS_H
#define HUSK_MCP_RECORDS_H

#include "mcp/options.h"

/* VERB_EXPORTS or VERB_HISTORY. Prints to stdout; returns the exit code. */
int records_run(const struct options *options);

#endif
