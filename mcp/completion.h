/* completion/complete: values for arguments of prompts and of resource templates. At most 100 values are returned. */
#ifndef HUSK_MCP_COMPLETION_H
#define HUSK_MCP_COMPLETION_H

#include "base/strv.h"
#include "mcp/connection.h"

void completion_complete(struct connection *c, struct call *call, json_t *params);

/* The paths that start with value, in folders that are allowed; folders end in "/". Names that cannot be shown as they are get
 * left out, and so do hidden ones unless the value asks for them. Reads at most one folder, which blocks. The result of the
 * method; new reference. */
json_t *completion_of_path(const struct strv *allowed, const char *value);

#endif
