#include "libhusk/pool.h"

#include "base/alloc.h"

void *pool_alloc(struct pool *p, size_t count, size_t size)
{
	if (p->n == p->allocated) {
		p->allocated = p->allocated ? 2 * p->allocated : 16;
		p->v = xrealloc(p->v, p->allocated * sizeof(*p->v));
	}
	return p->v[p->n++] = xcalloc(count, size);
}

const char *pool_bytes(struct pool *p, const char *data, size_t n)
{
	char *copy = pool_alloc(p, n + 1, 1);
	if (n)
		memcpy(copy, data, n);
	return copy;
}

const char *pool_text(struct pool *p, const char *text)
{
	return text ? pool_bytes(p, text, strlen(text)) : NULL;
}

void pool_release(struct pool *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->v[i]);
	free(p->v);
	*p = (struct pool){ 0 };
}
