/* Percent-encoding, as in URLs. */
#ifndef HUSK_BASE_PERCENT_H
#define HUSK_BASE_PERCENT_H

#include "base/buf.h"

/* The value of the escape %XX at the beginning of the n bytes; -1 if there is no valid escape. */
int percent_byte(const char *s, size_t n);
/* The n bytes with escapes decoded. Malformed escapes are kept, NULs are dropped. The caller owns it. */
char *percent_decode(const char *s, size_t n);
/* Appends s with everything but unreserved characters escaped; slashes stay if keep_slash. */
void percent_encode(struct buf *to, const char *s, bool keep_slash);

#endif
