/* The argument `env` of several tools. */
#ifndef HUSK_MCP_ENV_ARG_H
#define HUSK_MCP_ENV_ARG_H

#include <jansson.h>

#include "manager/manager.h"

/* The variables in an object of strings (NULL = none), which they borrow from. The caller frees the vector. */
struct env_var *env_arg(json_t *texts, size_t *ret_n);

#endif
