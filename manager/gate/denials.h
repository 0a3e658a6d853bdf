/* Counts connections that failed, by host and cause, in bounded memory. */
#ifndef HUSK_MANAGER_GATE_DENIALS_H
#define HUSK_MANAGER_GATE_DENIALS_H

#include "base/buf.h"
#include "kernels/host-name.h"
#include "manager/model/cause.h"
#include "manager/model/rules.h"

#define DENIALS_MAX 32

struct denial {
	char name[HOST_NAME_SIZE]; /* "" = an address that belongs to no name */
	uint16_t port;
	enum cause cause;
	uint64_t count;
};

/* All zeroes = none. */
struct denials {
	struct denial v[DENIALS_MAX];
	size_t n;
	uint64_t others; /* of hosts that found no room */
};

void denials_add(struct denials *d, const char *name, uint16_t port, enum cause cause, uint64_t count);
/* Sentences for people, or NULL if nothing was refused. The caller owns them. */
char *denials_note(const struct denials *d, const struct rules *rules);
/* "api.example.com, *.example.org and 3 more": what the rules reach; "no host" without rules. */
void denials_put_reach(struct buf *out, const struct rules *rules);

#endif
