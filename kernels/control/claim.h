/* The payload of a CLAIM: the session that a container belongs to, and its settings. */
#ifndef HUSK_KERNELS_CONTROL_CLAIM_H
#define HUSK_KERNELS_CONTROL_CLAIM_H

#include "base/strv.h"
#include "kernels/protocol.h"

struct claim {
	char session[SESSION_ID_LEN + 1]; /* empty: an install */
	uint64_t lease_ms;
	uint64_t lifetime_ms; /* 0 = none */
	struct strv env;      /* added to the environment of every process that starts from now on */
	char *cwd;	      /* the directory in which they start; NULL = /workspace */
	char *authority;      /* PEM: a certificate that clients in the session trust too; NULL = none */
};

void claim_release(struct claim *c);
/* 0 and *ret, to be released, or -EPROTO and *ret unchanged. */
int claim_parse(struct claim *ret, const void *payload, size_t n);

#endif
