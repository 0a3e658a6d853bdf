/* The program or person that makes a request. */
#ifndef HUSK_API_CALLER_H
#define HUSK_API_CALLER_H

#include "manager/manager.h"

struct caller {
	char *tenant;	    /* NULL = nobody, or the holder of a signed link */
	char *key;	    /* id of the key; NULL = a program of the same user on the unix socket */
	char *conversation; /* of requests that do not name one; NULL = the server's own */
	unsigned scopes;
	uint64_t max_streams; /* of all keys of the tenant; 0 = no limit */
	bool remote;	      /* over TCP: paths of the host are neither accepted nor shown */
	/* Another server of this user, or a client that looks for a session, sent the request: it is only for sessions
	 * that this server has. */
	bool forwarded;
};

/* The operator manages keys and secrets of any tenant. */
static inline bool caller_is_operator(const struct caller *c)
{
	return scopes_allow(c->scopes, SCOPE_ADMIN) && c->tenant && streq(c->tenant, TENANT_LOCAL);
}

static inline void caller_release(struct caller *c)
{
	free(c->tenant);
	free(c->key);
	free(c->conversation);
}

#endif
