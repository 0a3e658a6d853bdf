/* Messages to nf_tables, and the attributes they consist of. Only Netlink's alignment and nesting are handled
 * here; rules.c knows the content. */
#ifndef HUSK_KERNELS_FENCE_MESSAGE_H
#define HUSK_KERNELS_FENCE_MESSAGE_H

#include <linux/netlink.h>

#include "base/buf.h"

/* Starts a message of nf_tables for the family inet at the end of b; returns its offset. */
size_t message_begin(struct buf *b, uint16_t type, uint16_t flags);
/* Likewise for nfnetlink itself: the beginning and end of a batch. */
size_t message_begin_batch(struct buf *b, uint16_t type);
void message_end(struct buf *b, size_t start);

void attr_add(struct buf *b, uint16_t type, const void *data, size_t n);
void attr_add_str(struct buf *b, uint16_t type, const char *text);
/* In the byte order of nf_tables: highest byte first. */
void attr_add_u32(struct buf *b, uint16_t type, uint32_t value);
void attr_add_u8(struct buf *b, uint16_t type, uint8_t value);
size_t attr_nest(struct buf *b, uint16_t type);
void attr_nest_end(struct buf *b, size_t start);

/* A sequence of attributes. */
struct attrs {
	const uint8_t *data;
	size_t n;
};

/* The attributes of a message of nf_tables; empty if the message is too short. */
struct attrs message_attrs(const struct nlmsghdr *message);
/* The k-th attribute of this type, counted from 0; false if there is none. */
bool attrs_find(struct attrs in, uint16_t type, size_t k, struct attrs *ret_value);
/* The text of the first attribute of this type; NULL if there is none or the text is not terminated. */
const char *attrs_str(struct attrs in, uint16_t type);
/* True if all of `mine` is in `theirs`, with list elements in the same order and number. `theirs` may have more, since
 * the Linux kernel adds attributes. */
bool attrs_within(struct attrs mine, struct attrs theirs);

#endif
