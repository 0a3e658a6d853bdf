/* Whether an engine on this machine may be able to limit the size of a volume, which needs XFS with project quotas.
 * Only an attempt can prove it, and a failed attempt costs a container, so this function decides whether to try. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_QUOTA_H
#define HUSK_MANAGER_ENGINE_DOCKER_QUOTA_H

#include "base/defs.h"

/* The list of mounts; tests use another file. */
extern const char *quota_mounts;

/* True if one of the mounts has project quotas. */
bool quota_is_likely(void);

#endif
