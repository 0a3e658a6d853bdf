/* JSON from a Jupyter kernel, which is more than JSON: Python writes NaN, integers of any length and halves of surrogate
 * pairs, and other kernels bytes that are no UTF-8. What is wrong is mended, so that a cell's output is not lost for one
 * character in it. */
#ifndef HUSK_JUPYTER_LOAD_H
#define HUSK_JUPYTER_LOAD_H

#include <jansson.h>

#include "base/defs.h"

/* The bounds of kernels/cells/link.h: what passes here passes PID 1. */
#define LOAD_DEPTH_MAX 250
#define LOAD_CONTAINERS_MAX 90000
#define LOAD_VALUES_MAX 1400000

/* The object, which the caller owns, an empty one for null, or NULL if it is none or too much. Of a key that stands there twice the last
 * counts. Strings may hold NULs. */
json_t *load_object(const void *data, size_t n);

#endif
