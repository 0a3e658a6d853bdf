/* The payload of a CLAIM: which session a container belongs to, and on what terms. */
#ifndef HUSK_KERNELS_CONTROL_CLAIM_H
#define HUSK_KERNELS_CONTROL_CLAIM_H

#include "base/strv.h"
#include "kernels/protocol.h"

struct claim {
	char session[SESSION_ID_LEN + 1]; /* empty: an install */
	uint64_t lease_ms;
	uint64_t lifetime_ms; /* 0 = none */
	struct strv env;      /* added to that of every process that starts from now on */
	char *cwd;	      /* where they start; NULL = /workspace */
};

void claim_release(struct claim *c);
/* 0 and *ret, to be released, or -EPROTO and *ret as it was. */
int claim_parse(struct claim *ret, const void *payload, size_t n);

#endif
