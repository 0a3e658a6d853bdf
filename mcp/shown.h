/* Sessions and exports in results of tools: the fields of manager/json/. Fields that the reference has keep its names:
 * session_id and runtime. */
#ifndef HUSK_MCP_SHOWN_H
#define HUSK_MCP_SHOWN_H

#include <jansson.h>

#include "manager/manager.h"

json_t *shown_session(const struct session_info *info);
/* In a list: without limits and packages, since a model reads every character. */
json_t *shown_listed_session(const struct session_info *info);
json_t *shown_details(const struct session_details *d);
/* remote: without the path of the host. download_url may be NULL. */
json_t *shown_export(const struct export_info *info, bool remote, const char *download_url);

#endif
