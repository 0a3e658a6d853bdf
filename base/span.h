/* Finds the end of a JSON value and checks it without building a tree: a list of a million numbers takes a tree of
 * 50 MB. */
#ifndef HUSK_BASE_SPAN_H
#define HUSK_BASE_SPAN_H

#include "base/defs.h"

/* Length of the value at s, or 0 if it is not valid JSON or is nested deeper than SPAN_DEPTH_MAX. Linear in the
 * result. */
size_t span_value(const uint8_t *s, size_t n);
/* Bytes of white space at s. */
size_t span_space(const uint8_t *s, size_t n);
/* Bytes of the string at s with its quotes, or 0. */
size_t span_string(const uint8_t *s, size_t n);

#define SPAN_DEPTH_MAX 512

#endif
