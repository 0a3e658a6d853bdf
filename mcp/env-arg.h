/* The argument `env` of the tools that take one. */
#ifndef HUSK_MCP_ENV_ARG_H
#define HUSK_MCP_ENV_ARG_H

#include <jansson.h>

#include "manager/manager.h"

/* The variables of an object of texts (NULL for none), which they borrow from. The caller frees the vector. */
struct env_var *env_arg(json_t *texts, size_t *ret_n);

#endif
