/* Tools, prompts, resources and tasks that the MCP conformance suite uses to check a server's content types,
 * progress, errors, tasks and requests for input. They are part of the program that the suite tests, not of husk. */
#ifndef HUSK_TESTS_CONFORMANCE_FIXTURES_H
#define HUSK_TESTS_CONFORMANCE_FIXTURES_H

#include "mcp/extension.h"

/* Returns the extension. Only one server at a time can have it; another can use it once that server is freed. */
const struct extension *fixtures_extension(void);

#endif
