/* Estimates what a JSON text would cost to parse, without parsing it: 16 MiB of brackets make a tree of gigabytes. */
#ifndef HUSK_BASE_SHAPE_H
#define HUSK_BASE_SHAPE_H

#include "base/defs.h"

struct shape {
	size_t depth;	   /* depth of nested arrays and objects */
	size_t containers; /* number of arrays and objects */
	size_t values;	   /* number of commas plus one */
};

/* Strings are skipped. Invalid JSON is left to the parser to reject. */
struct shape shape_of(const void *json, size_t n);

#endif
