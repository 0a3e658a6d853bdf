/* The kernel's own idea of the table: read, compared and replaced. Everything returns 0 or -errno. */
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
/* Is it what these messages (rules_write()) make, no more and no less? */
bool table_is(const struct table *t, const struct buf *wanted);
/* Openings that its rules tell of. */
int table_openings(const struct table *t, struct openings *ret);
/* Puts what these messages make in place of the table that was read, in one step. -ERESTART: some rules have changed since. */
int table_replace(int fd, const struct table *t, const struct buf *wanted);

#endif
