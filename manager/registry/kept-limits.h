/* A session's limits as its row in the store has them, for whoever takes it over or lists it. */
#ifndef HUSK_MANAGER_REGISTRY_KEPT_LIMITS_H
#define HUSK_MANAGER_REGISTRY_KEPT_LIMITS_H

#include "manager/model/limits.h"

/* JSON. The caller owns it. */
char *kept_limits_write(const struct limits *limits, bool network);
/* What the text does not say, or an older Husk did not write, is as the settings have it. text may be NULL. */
struct limits kept_limits_read(const char *text, const struct config *config);
/* Whether it has a network; true if the text does not say. */
bool kept_network_read(const char *text);

#endif
