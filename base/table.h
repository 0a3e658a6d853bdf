/* An ordered table of byte strings. Adding and finding take logarithmic time, whatever the keys are. */
#ifndef HUSK_BASE_TABLE_H
#define HUSK_BASE_TABLE_H

#include "base/defs.h"

/* All zeroes = empty. */
struct table {
	void *root;
	size_t n;
	size_t bytes; /* total size of keys and values */
};

/* Copies the key and the value. If the key exists, returns false and keeps its value. */
bool table_add(struct table *t, const void *key, size_t key_len, const void *value, size_t value_len);
/* The value of a key, followed by a NUL; NULL for an unknown key. Valid until the table is released; the caller may
 * change it. */
void *table_find(const struct table *t, const void *key, size_t key_len);
void table_release(struct table *t);

#endif
