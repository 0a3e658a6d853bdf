/* The kernel's table: read, compared and replaced. All functions return 0 or -errno. */
#ifndef HUSK_KERNELS_FENCE_TABLE_H
#define HUSK_KERNELS_FENCE_TABLE_H

#include "base/buf.h"
#include "kernels/fence/opening.h"

struct table {
	uint32_t generation; /* of all rules of this network namespace */
	bool is_there;
	struct buf dump; /* the table, its chains and its rules, as messages */
};

/* A socket to nf_tables. */
int table_open(void);
int table_read(int fd, struct table *ret);
void table_release(struct table *t);
/* Does the table match these messages (rules_write()) exactly? */
bool table_is(const struct table *t, const struct buf *wanted);
/* The openings that the comments of its rules describe. */
int table_openings(const struct table *t, struct openings *ret);
/* Replaces the table that was read by these messages, in one step. -ERESTART: rules have changed since. */
int table_replace(int fd, const struct table *t, const struct buf *wanted);

#endif
