/* Resources: exports (husk://exports/ID/NAME) and texts of runs (husk://run/SESSION/NUMBER). */
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

/* The ID in husk://exports/ID/NAME, where NAME is only for people; NULL for any other URI. The caller owns it. */
char *resources_export_id(const char *uri);
/* Both answer the request with an error. "uri" in its arguments is the resource. */
void resources_not_found(struct call *call);
void resources_fail(struct call *call, const struct fail *f);

/* A resource_link block. download_url may be NULL. New reference. */
json_t *resources_link(const struct export_info *e, const char *download_url);
/* The address of an export for the client of the request; NULL = none. The caller owns it. */
char *resources_download_url(const struct call *call, const struct tool_env *env, const struct export_info *e);

#endif
