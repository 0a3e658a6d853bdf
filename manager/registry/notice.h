/* A notice in a result, which says that the session will end soon. */
#ifndef HUSK_MANAGER_REGISTRY_NOTICE_H
#define HUSK_MANAGER_REGISTRY_NOTICE_H

#include "base/defs.h"

/* A sentence that the caller owns; NULL while there is enough time. */
char *notice_text(uint64_t left_ms, uint64_t lifetime_seconds, uint64_t idle_ttl_seconds);

#endif
