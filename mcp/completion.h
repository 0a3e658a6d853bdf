/* completion/complete: values for arguments of prompts and of resource templates. At most 100 values are returned. */
#ifndef HUSK_MCP_COMPLETION_H
#define HUSK_MCP_COMPLETION_H

#include "base/strv.h"
#include "mcp/connection.h"

void completion_complete(struct connection *c, struct call *call, json_t *params);

/* Finds the paths that start with value, in allowed folders; folders end in "/". Names that cannot be shown unchanged
 * are left out. So are hidden names, unless the typed name starts with a dot. Reads at most one folder, which blocks.
 * Returns the result of the method as a new reference. */
json_t *completion_of_path(const struct strv *allowed, const char *value);

#endif
