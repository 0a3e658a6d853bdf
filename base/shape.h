/* What a JSON text would cost to parse, found without parsing it: 16 MiB of brackets make a tree of gigabytes. */
#ifndef HUSK_BASE_SHAPE_H
#define HUSK_BASE_SHAPE_H

#include "base/defs.h"

struct shape {
	size_t depth;	   /* of the deepest array or object */
	size_t containers; /* arrays and objects */
	size_t values;	   /* one more than there are commas */
};

/* Strings are skipped. What is not JSON at all is left to the parser to refuse. */
struct shape shape_of(const void *json, size_t n);

#endif
