/* Tenants: groups of keys that share nothing. A conversation belongs to one tenant, and with it its sessions, exports,
 * tasks and history.
 *
 * The conversations of a tenant other than `local` have ids of the form "@TENANT/ID". Every query that selects by
 * conversation therefore separates the tenants too. Ids of the tenant `local` do not begin with "@". */
#ifndef HUSK_MANAGER_MODEL_TENANT_H
#define HUSK_MANAGER_MODEL_TENANT_H

#include "base/defs.h"

/* The owner of everything that was made without a key. */
#define TENANT_LOCAL "local"
#define TENANT_NAME_MAX 32

struct tenant_limits {
	/* 0 = only the server's own limits apply. */
	uint64_t sessions;
	uint64_t memory;  /* bytes of all sessions together */
	uint64_t streams; /* of events and terminals, open at the same time */
	uint64_t exports; /* bytes of all exports together */
};

/* Lower-case letters, digits and hyphens, 1 to TENANT_NAME_MAX of them. */
bool tenant_name_is_valid(const char *name);
/* The full id of a tenant's conversation. The caller owns it. */
char *tenant_conversation(const char *tenant, const char *id);
/* The tenant of a conversation with this full id. The caller owns it. */
char *tenant_of(const char *conversation);
/* True if the conversation belongs to the tenant. */
bool tenant_owns(const char *tenant, const char *conversation);
/* True if both conversations belong to the same tenant. */
bool tenant_is_same(const char *conversation, const char *other);
/* The id without the tenant, as the tenant's programs know it. Points into the full id. */
const char *tenant_inner_id(const char *conversation);

#endif
