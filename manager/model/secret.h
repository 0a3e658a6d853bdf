/* Secrets: values that code of a session can use but never see. A secret belongs to a tenant and to the hosts that it
 * names. The gate replaces a placeholder by its value on connections to these hosts (manager/gate/inject.h). */
#ifndef HUSK_MANAGER_MODEL_SECRET_H
#define HUSK_MANAGER_MODEL_SECRET_H

#include "base/buf.h"
#include "base/fail.h"

#define SECRET_NAME_MAX 64
#define SECRET_HOSTS_MAX 8
/* Secrets of one tenant, and of one session. */
#define SECRETS_MAX 200
#define SESSION_SECRETS_MAX 16
/* The value of a secret, in bytes. Shorter texts occur in answers by chance. */
#define SECRET_VALUE_MIN 8
#define SECRET_VALUE_MAX 4096

struct secret_info {
	const char *name; /* also the name of the variable that has its placeholder */
	const char *tenant;
	const char *hosts; /* "name:port", separated by blanks */
	/* Where it may be used. With none of them: in any header, also as a part of Basic credentials. */
	const char *header; /* in lower case */
	const char *query;  /* a parameter of the address */
	const char *basic;  /* the password of this user, in Basic credentials */
	uint64_t created_ms, changed_ms;
};

/* Secrets of a session. */
struct secret_names {
	const char *const *v;
	size_t n;
};

/* Letters, digits and '_', beginning with a letter. */
bool secret_name_is_valid(const char *name);
/* Checks a host, "name" or "name:port", and appends it with its port to the list. -1 with f. */
int secret_host_add(struct buf *list, const char *host, struct fail *f);
/* Checks everything but the hosts. -1 with f, which never quotes the value. */
int secret_check(const struct secret_info *s, const char *value, struct fail *f);

#endif
