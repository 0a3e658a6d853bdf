/* A session's limits in its row in the store. They are read when the session is listed or taken over. */
#ifndef HUSK_MANAGER_REGISTRY_KEPT_LIMITS_H
#define HUSK_MANAGER_REGISTRY_KEPT_LIMITS_H

#include "manager/model/limits.h"

/* JSON. The caller owns it. */
char *kept_limits_write(const struct limits *limits, bool network);
/* Limits that are missing in the text, since an older Husk did not write them, are taken from the settings. text may
 * be NULL. */
struct limits kept_limits_read(const char *text, const struct config *config);
/* Whether the session has a network; true if the text does not say. */
bool kept_network_read(const char *text);

#endif
