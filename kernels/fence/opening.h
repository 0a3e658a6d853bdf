/* An opening in the fence: a network, or one port of it, that a server's settings let its sessions reach. Several servers share one
 * fence, in which each place is open once, until the last of those who asked for it has been gone for a while; each opening says
 * who that was. */
#ifndef HUSK_KERNELS_FENCE_OPENING_H
#define HUSK_KERNELS_FENCE_OPENING_H

#include "base/defs.h"

#define OWNER_MAX 64
/* More than any settings name, and few enough for one batch. */
#define OPENINGS_MAX 200
#define OPENING_TEXT_MAX 160

struct opening {
	char owner[OWNER_MAX + 1];
	uint64_t until; /* seconds since boot, suspended time included */
	bool v6;
	uint8_t address[16]; /* 4 or 16 bytes, with nothing behind the prefix */
	uint8_t prefix;
	uint16_t port; /* of TCP; 0 = everything */
};

struct openings {
	struct opening v[OPENINGS_MAX];
	size_t n;
};

/* ADDRESS/PREFIX or ADDRESS/PREFIX,PORT; -EINVAL. Owner and time are left alone. */
int opening_parse(struct opening *o, const char *text);
/* As it stands beside its rule: "husk OWNER UNTIL ADDRESS/PREFIX[,PORT]". */
void opening_write(const struct opening *o, char ret[OPENING_TEXT_MAX]);
int opening_read(struct opening *o, const char *text);
/* What it opens, whoever's it is and whenever it ends. */
bool opening_same(const struct opening *a, const struct opening *b);
/* If it is there already, the later end counts. -ENOSPC when there are too many. */
int openings_add(struct openings *list, const struct opening *o);
/* What the fence should let through: what anybody has asked for, as long as that holds, and what is asked for now, for so many
 * seconds. -ENOSPC. */
int openings_merge(struct openings *ret, const struct openings *old, const struct openings *mine, uint64_t now,
		   uint64_t seconds);

#endif
