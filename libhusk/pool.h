/* Memory that is freed all at once: the parts of one answer. */
#ifndef HUSK_LIBHUSK_POOL_H
#define HUSK_LIBHUSK_POOL_H

#include "base/defs.h"

struct pool {
	void **v;
	size_t n, allocated;
};

/* The memory is zeroed. count may be 0. */
void *pool_alloc(struct pool *p, size_t count, size_t size);
/* Copies text; returns NULL for NULL. */
const char *pool_text(struct pool *p, const char *text);
const char *pool_bytes(struct pool *p, const char *data, size_t n);
void pool_release(struct pool *p);

#define pool_new(pool, type) ((type *)pool_alloc(pool, 1, sizeof(type)))

#endif
