/* Strict number parsing: the whole string, in range, or an error. */
#ifndef HUSK_BASE_PARSE_H
#define HUSK_BASE_PARSE_H

#include "base/defs.h"

/* Decimal digits only. 0, -EINVAL, or -ERANGE; *ret is untouched on failure. */
int parse_u64(const char *s, uint64_t *ret);
/* A byte count with an optional unit b, k, m, g (any case, powers of 1024, "2048m", "2g"), as in the docker CLI. */
int parse_size(const char *s, uint64_t *ret);
/* Decimal digits with an optional fraction: "2", "0.5". */
int parse_decimal(const char *s, double *ret);
/* true/false, yes/no, on/off, 1/0, any case. */
int parse_bool(const char *s, bool *ret);

#endif
