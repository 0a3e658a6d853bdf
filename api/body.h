/* The JSON body of a request, before it is decoded with the table of its route. */
#ifndef HUSK_API_BODY_H
#define HUSK_API_BODY_H

#include <jansson.h>

#include "base/defs.h"

/* Parses a body, which may be empty. Returns an object that the caller owns, or NULL and a sentence that says what is
 * wrong, which the caller frees. Depth and number of values are bounded before anything is allocated for them. */
json_t *body_parse(const void *data, size_t n, char **ret_detail);

#endif
