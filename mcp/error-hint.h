/* Hints for a model about an error of its code or command. Errors are recognized by the words of interpreters, shells
 * and libraries. */
#ifndef HUSK_MCP_ERROR_HINT_H
#define HUSK_MCP_ERROR_HINT_H

#include "manager/manager.h"

/* NULL if there is no hint for this error. The caller owns it. */
char *error_hint(const struct run_result *run);
/* The same for a run that succeeded: R only warns if install.packages() cannot reach its repository. */
char *warning_hint(const struct run_result *run);

#endif
