/* An opening in the fence: a network, or one port of it, that a server's settings allow its sessions to reach. Several
 * servers share one fence, which has one opening for each place. An opening lasts until some time after the last server
 * that asked for it has gone, and records that server. */
#ifndef HUSK_KERNELS_FENCE_OPENING_H
#define HUSK_KERNELS_FENCE_OPENING_H

#include "base/defs.h"

#define OWNER_MAX 64
/* More than any server's settings contain, and few enough for one batch. */
#define OPENINGS_MAX 200
#define OPENING_TEXT_MAX 160

struct opening {
	char owner[OWNER_MAX + 1];
	uint64_t until; /* seconds since boot, suspended time included */
	bool v6;
	uint8_t address[16]; /* 4 or 16 bytes, zero after the prefix */
	uint8_t prefix;
	uint16_t port; /* TCP port; 0 = everything */
};

struct openings {
	struct opening v[OPENINGS_MAX];
	size_t n;
};

/* Parses ADDRESS/PREFIX or ADDRESS/PREFIX,PORT. 0 or -EINVAL. Does not set owner and time. */
int opening_parse(struct opening *o, const char *text);
/* The comment of its rule: "husk OWNER UNTIL ADDRESS/PREFIX[,PORT]". */
void opening_write(const struct opening *o, char ret[OPENING_TEXT_MAX]);
int opening_read(struct opening *o, const char *text);
/* True if both open the same place, whatever their owner and end. */
bool opening_same(const struct opening *a, const struct opening *b);
/* If the list already has the place, the later end counts. -ENOSPC when there are too many. */
int openings_add(struct openings *list, const struct opening *o);
/* The openings of the new fence: earlier ones that are still valid, and those requested now, for this many
 * seconds. -ENOSPC. */
int openings_merge(struct openings *ret, const struct openings *old, const struct openings *mine, uint64_t now,
		   uint64_t seconds);

#endif
