#include "manager/model/scope.h"

#include "base/alloc.h"
#include "base/buf.h"

static const struct {
	const char *name;
	enum scope scope;
} names[] = {
	{ "sessions:read", SCOPE_SESSIONS_READ },
	{ "sessions:write", SCOPE_SESSIONS_WRITE },
	{ "run", SCOPE_RUN },
	{ "terminal", SCOPE_TERMINAL },
	{ "files:read", SCOPE_FILES_READ },
	{ "files:write", SCOPE_FILES_WRITE },
	{ "exports:read", SCOPE_EXPORTS_READ },
	{ "ports", SCOPE_PORTS },
	{ "settings", SCOPE_SETTINGS },
	{ "keys", SCOPE_KEYS },
	{ "metrics", SCOPE_METRICS },
	{ "secrets", SCOPE_SECRETS },
	{ "admin", SCOPE_ADMIN },
};

const char *scope_name(enum scope scope)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].scope == scope)
			return names[i].name;
	return NULL;
}

bool scopes_allow(unsigned scopes, enum scope needed)
{
	return needed == SCOPE_NONE || (scopes & (unsigned)(needed | SCOPE_ADMIN)) != 0;
}

static unsigned find(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i].name) == n && memcmp(names[i].name, name, n) == 0)
			return names[i].scope;
	return 0;
}

int scopes_parse(const char *text, unsigned *ret, struct fail *f)
{
	unsigned scopes = 0;
	for (const char *p = text + strspn(text, " ,"); *p; p += strspn(p, " ,")) {
		size_t n = strcspn(p, " ,");
		unsigned scope = find(p, n);
		if (!scope) {
			AUTO(freep) char *all = scopes_text(SCOPES_ALL);
			fail_set(f, FAIL_INVALID, "'%.*s' is not a scope", (int)MIN(n, 64), p);
			return fail_hint(f, "Scopes are: %s.", all);
		}
		scopes |= scope;
		p += n;
	}
	if (!scopes)
		return fail_set(f, FAIL_INVALID, "no scope is given");
	*ret = scopes;
	return 0;
}

char *scopes_text(unsigned scopes)
{
	struct buf b = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (scopes & names[i].scope)
			buf_printf(&b, "%s%s", b.len ? " " : "", names[i].name);
	return buf_steal_str(&b);
}
