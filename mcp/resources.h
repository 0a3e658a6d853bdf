/* Exports as resources: husk://exports/ID/NAME. */
#ifndef HUSK_MCP_RESOURCES_H
#define HUSK_MCP_RESOURCES_H

#include "manager/manager.h"
#include "mcp/connection.h"

void resources_list(struct connection *c, struct call *call, json_t *params);
void resources_templates(struct connection *c, struct call *call, json_t *params);
void resources_read(struct connection *c, struct call *call, json_t *params);

/* A resource_link block. New reference. */
json_t *resources_link(const struct export_info *e);

#endif
