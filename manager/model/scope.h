/* Scopes: a key has a set of them, and each route of the API requires one. */
#ifndef HUSK_MANAGER_MODEL_SCOPE_H
#define HUSK_MANAGER_MODEL_SCOPE_H

#include "base/fail.h"

enum scope {
	SCOPE_NONE = 0,
	SCOPE_SESSIONS_READ = 1 << 0,
	SCOPE_SESSIONS_WRITE = 1 << 1,
	SCOPE_RUN = 1 << 2,
	SCOPE_TERMINAL = 1 << 3,
	SCOPE_FILES_READ = 1 << 4,
	SCOPE_FILES_WRITE = 1 << 5,
	SCOPE_EXPORTS_READ = 1 << 6,
	SCOPE_PORTS = 1 << 7,
	SCOPE_SETTINGS = 1 << 8,
	SCOPE_KEYS = 1 << 9,
	SCOPE_METRICS = 1 << 10,
	SCOPE_SECRETS = 1 << 11,
	SCOPE_ADMIN = 1 << 12, /* includes all others */
};
#define SCOPES_ALL ((1u << 13) - 1)
/* For programs and people that work with sessions; a new key has these unless it asks for others. */
#define SCOPES_DEFAULT                                                                                                 \
	(SCOPE_SESSIONS_READ | SCOPE_SESSIONS_WRITE | SCOPE_RUN | SCOPE_TERMINAL | SCOPE_FILES_READ |                  \
	 SCOPE_FILES_WRITE | SCOPE_EXPORTS_READ | SCOPE_PORTS)

/* "sessions:read", …; NULL if it is not exactly one scope. */
const char *scope_name(enum scope scope);
/* True if the set allows what needs this scope. */
bool scopes_allow(unsigned scopes, enum scope needed);
/* Reads names that are separated by blanks or commas, such as "run files:read"; -1 with f. */
int scopes_parse(const char *text, unsigned *ret, struct fail *f);
/* The names, separated by blanks. The caller owns the text. */
char *scopes_text(unsigned scopes);

#endif
