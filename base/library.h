#ifndef HUSK_BASE_LIBRARY_H
#define HUSK_BASE_LIBRARY_H

#include <stddef.h>

#include "base/defs.h"

/* Shared libraries that few programs need, loaded when they are first needed: a server that never opens Postgres does
 * not pay for libpq and the thirty libraries behind it.
 *
 *	#define FUNCTIONS(X) X(PQfinish) X(PQexec)
 *	static struct { FUNCTIONS(LIBRARY_POINTER) } lib;
 *	static struct library libpq = LIBRARY(FUNCTIONS, "libhusk-pq.so.5", "libpq.so.5");
 *
 *	if (!library_load(&libpq)) …; lib.PQfinish(connection);
 *
 * List the file name that packages with a bundled copy use first (LOADED in tools/dist/portable.py). */
struct library_function {
	const char *name;
	void **pointer;
};

struct library {
	const char *const *names; /* tried in this order, up to a NULL */
	const struct library_function *functions;
	size_t n;
	bool (*start)(void); /* called once, after the functions were found; NULL for none */
	bool loaded;
};

#define LIBRARY_POINTER(function) __typeof__(&function) function;
#define LIBRARY_FUNCTION(function) { #function, (void **)&lib.function },
#define LIBRARY(FUNCTIONS, ...)                                                                                        \
	{                                                                                                              \
		.names = (const char *const[]){ __VA_ARGS__, NULL },                                                   \
		.functions = (const struct library_function[]){ FUNCTIONS(LIBRARY_FUNCTION) },                         \
		.n = ARRAY_LEN(((const struct library_function[]){ FUNCTIONS(LIBRARY_FUNCTION) }))                     \
	}

/* Returns whether the library is available. Any thread may call it. The library stays loaded, since most cannot
 * undo their set-up. */
bool library_load(struct library *l);

#endif
