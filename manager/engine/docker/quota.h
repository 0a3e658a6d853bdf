/* Whether an engine on this machine can hold a volume to a size: on XFS with project quotas, and nowhere else. Only trying tells, and
 * a try that fails costs a container, so this says where it is worth one. */
#ifndef HUSK_MANAGER_ENGINE_DOCKER_QUOTA_H
#define HUSK_MANAGER_ENGINE_DOCKER_QUOTA_H

#include "base/defs.h"

/* What is mounted here; a test has another file. */
extern const char *quota_mounts;

/* True if one of them has project quotas. */
bool quota_is_likely(void);

#endif
