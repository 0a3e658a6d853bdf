#include "kernels/control/claim.h"

#include <errno.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/json.h"

#define SECONDS_MAX 1000000000

void claim_release(struct claim *c)
{
	strv_release(&c->env);
	free(c->cwd);
	free(c->authority);
	*c = (struct claim){ 0 };
}

static bool is_session_id(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz234567");
	return s[n] == '\0' && (n == 0 || n == SESSION_ID_LEN);
}

static bool take_env(struct strv *ret, json_t *env)
{
	size_t total = 0;
	const char *name;
	json_t *value;
	if (env && !json_is_object(env))
		return false;
	json_object_foreach(env, name, value) {
		if (!json_is_string(value) || !*name || strchr(name, '='))
			return false;
		total += strlen(name) + 1 + json_string_length(value) + 1;
		if (total > CLAIM_ENV_MAX)
			return false;
		strv_addf(ret, "%s=%s", name, json_string_value(value));
	}
	return true;
}

int claim_parse(struct claim *ret, const void *payload, size_t n)
{
	AUTO(claim_release) struct claim c = { 0 };
	/* json_parse() also rejects strings that contain a NUL. */
	json_auto_t *fields = json_parse(payload, n, JSON_REJECT_DUPLICATES);
	const char *session, *cwd = NULL, *authority = NULL;
	json_int_t lease, lifetime;
	json_t *env = NULL;
	if (json_unpack(fields, "{s:s, s:I, s:I, s?o, s?s, s?s}", "session", &session, "lease_seconds", &lease,
			"lifetime_seconds", &lifetime, "env", &env, "cwd", &cwd, "authority", &authority) < 0)
		return -EPROTO;
	if (!is_session_id(session) || lease < 1 || lease > SECONDS_MAX || lifetime < 0 || lifetime > SECONDS_MAX ||
	    !take_env(&c.env, env) || (authority && strlen(authority) > CLAIM_AUTHORITY_MAX))
		return -EPROTO;
	memcpy(c.session, session, strlen(session) + 1);
	c.cwd = cwd && *cwd ? xstrdup(cwd) : NULL;
	c.authority = authority && *authority ? xstrdup(authority) : NULL;
	c.lease_ms = (uint64_t)lease * 1000;
	c.lifetime_ms = (uint64_t)lifetime * 1000;
	*ret = c;
	c = (struct claim){ 0 };
	return 0;
}
