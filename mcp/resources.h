/* Exports as resources: husk://exports/ID/NAME. */
#ifndef HUSK_MCP_RESOURCES_H
#define HUSK_MCP_RESOURCES_H

#include "manager/manager.h"
#include "mcp/connection.h"

void resources_list(struct connection *c, struct call *call, json_t *params);
void resources_templates(struct connection *c, struct call *call, json_t *params);
void resources_read(struct connection *c, struct call *call, json_t *params);

#define RESOURCES_EXPORTS "husk://exports/"
#define RESOURCES_EXPORT_TEMPLATE RESOURCES_EXPORTS "{id}/{name}"
#define RESOURCES_RUN_TEMPLATE "husk://run/{session_id}/{number}"

/* The ID of husk://exports/ID/NAME, in which the name is only for people; NULL for another URI. The caller owns
 * it. */
char *resources_export_id(const char *uri);
/* Both answer the request. "uri" in its arguments is the resource. */
void resources_not_found(struct call *call);
void resources_fail(struct call *call, const struct fail *f);

/* A resource_link block. New reference. */
json_t *resources_link(const struct export_info *e);

#endif
