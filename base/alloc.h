/* Allocation that aborts when memory runs out; for small sizes only. If a peer chooses a size, the caller checks it
 * against a limit first. */
#ifndef HUSK_BASE_ALLOC_H
#define HUSK_BASE_ALLOC_H

#include <stdarg.h>

#include "base/defs.h"

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2);
char *xvasprintf(const char *fmt, va_list ap) PRINTF_LIKE(1, 0);

/* A block of at least this size counts as large. */
#define ALLOC_LARGE (128u << 10)
/* True if some thread has allocated a large block since the last call. */
bool alloc_took_large(void);

#define new0(type) ((type *)xcalloc(1, sizeof(type)))

/* For AUTO(freep) on any pointer variable. */
static inline void freep(void *p)
{
	free(*(void **)p);
}

#endif
