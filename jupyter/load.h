/* JSON from a Jupyter kernel, which is not always valid: Python writes NaN, integers of any length and halves of
 * surrogate pairs, and other kernels write bytes that are not UTF-8. Such values are repaired, so that a cell's output
 * is not lost because of one bad character. */
#ifndef HUSK_JUPYTER_LOAD_H
#define HUSK_JUPYTER_LOAD_H

#include <jansson.h>

#include "base/defs.h"

/* The limits of kernels/cells/link.h, so that PID 1 accepts whatever passes here. */
#define LOAD_DEPTH_MAX 250
#define LOAD_CONTAINERS_MAX 90000
#define LOAD_VALUES_MAX 1400000

/* Parses an object, which the caller owns. null becomes an empty object. NULL if the data is not an object or exceeds a
 * limit. If a key occurs twice, the last one counts. Strings may contain NULs. */
json_t *load_object(const void *data, size_t n);

#endif
