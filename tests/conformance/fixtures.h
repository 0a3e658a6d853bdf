/* Tools, prompts, resources and tasks that the MCP conformance suite uses to see a server's content types, progress, errors, tasks and
 * requests for input. They are part of the program that the suite tests, not of husk. */
#ifndef HUSK_TESTS_CONFORMANCE_FIXTURES_H
#define HUSK_TESTS_CONFORMANCE_FIXTURES_H

#include "mcp/extension.h"

/* One at a time: it belongs to the server that it is given to, and is used again once that is freed. */
const struct extension *fixtures_extension(void);

#endif
