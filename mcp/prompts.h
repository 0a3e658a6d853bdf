/* Prompts: ready-made requests that a person chooses in the client, which sends them to its model. */
#ifndef HUSK_MCP_PROMPTS_H
#define HUSK_MCP_PROMPTS_H

#include "mcp/connection.h"

void prompts_list(struct connection *c, struct call *call, json_t *params);
void prompts_get(struct connection *c, struct call *call, json_t *params);

/* True if there is a prompt of this name. */
bool prompts_has(const char *name);

#endif
