#include "manager/model/tenant.h"

#include "base/alloc.h"

bool tenant_name_is_valid(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
	return n > 0 && n <= TENANT_NAME_MAX && !name[n];
}

char *tenant_conversation(const char *tenant, const char *id)
{
	return streq(tenant, TENANT_LOCAL) ? xstrdup(id) : xasprintf("@%s/%s", tenant, id);
}

/* The length of the tenant's name in a full id; 0 = the tenant is local. */
static size_t name_length(const char *conversation)
{
	const char *slash = *conversation == '@' ? strchr(conversation, '/') : NULL;
	return slash ? (size_t)(slash - conversation) - 1 : 0;
}

char *tenant_of(const char *conversation)
{
	size_t n = name_length(conversation);
	return n ? xstrndup(conversation + 1, n) : xstrdup(TENANT_LOCAL);
}

bool tenant_owns(const char *tenant, const char *conversation)
{
	AUTO(freep) char *owner = tenant_of(conversation);
	return streq(owner, tenant);
}

bool tenant_is_same(const char *conversation, const char *other)
{
	AUTO(freep) char *owner = tenant_of(conversation);
	return tenant_owns(owner, other);
}

const char *tenant_inner_id(const char *conversation)
{
	size_t n = name_length(conversation);
	return n ? conversation + n + 2 : conversation;
}
