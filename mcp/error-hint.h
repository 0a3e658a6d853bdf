/* What a model can do about an error that its code or command ran into, by the words of interpreters, shells and libraries. */
#ifndef HUSK_MCP_ERROR_HINT_H
#define HUSK_MCP_ERROR_HINT_H

#include "manager/manager.h"

/* NULL if the error is not one of those that need a hint. The caller owns it. */
char *error_hint(const struct run_result *run);

#endif
