/* Reads, compares and replaces the fence's table in the Linux kernel. Functions that return an int return -errno on
 * failure. */
#ifndef HUSK_KERNELS_FENCE_TABLE_H
#define HUSK_KERNELS_FENCE_TABLE_H

#include "base/buf.h"
#include "kernels/fence/opening.h"

struct table {
	uint32_t generation; /* generation of all rules of this network namespace */
	bool is_there;
	struct buf dump; /* the table, its chains and its rules, as messages */
};

/* Returns a socket to nf_tables. */
int table_open(void);
int table_read(int fd, struct table *ret);
void table_release(struct table *t);
/* True if the table matches these messages (from rules_write()) exactly. */
bool table_is(const struct table *t, const struct buf *wanted);
/* Reads the openings from the comments of the table's rules. */
int table_openings(const struct table *t, struct openings *ret);
/* Replaces the table that was read with the one in these messages, in one step. -ERESTART: rules have changed since it
 * was read. */
int table_replace(int fd, const struct table *t, const struct buf *wanted);

#endif
