#include "base/alloc.h"

#include <stdatomic.h>

static atomic_bool large;

static void note(size_t size)
{
	if (size >= ALLOC_LARGE)
		atomic_store_explicit(&large, true, memory_order_relaxed);
}

bool alloc_took_large(void)
{
	return atomic_exchange_explicit(&large, false, memory_order_relaxed);
}

static void *checked(void *p)
{
	if (!p)
		abort();
	return p;
}

void *xmalloc(size_t size)
{
	note(size);
	return checked(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t size)
{
	note(size);
	return checked(realloc(p, size ? size : 1));
}

char *xstrdup(const char *s)
{
	return checked(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return checked(strndup(s, n));
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *s = NULL;
	if (vasprintf(&s, fmt, ap) < 0)
		abort();
	return s;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *s = xvasprintf(fmt, ap);
	va_end(ap);
	return s;
}
