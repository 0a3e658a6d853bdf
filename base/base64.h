/* Base64 with the standard alphabet (RFC 4648, section 4). */
#ifndef HUSK_BASE_BASE64_H
#define HUSK_BASE_BASE64_H

#include "base/buf.h"

/* Appends the text, padded. */
void base64_encode(const void *data, size_t n, struct buf *out);
/* Appends the bytes. Padding may be missing; white space is ignored. -EINVAL for anything else; `out` is then
 * unchanged. */
int base64_decode(const char *text, size_t n, struct buf *out);

/* True if the text is exactly what base64_encode() writes: no white space and no alternative encoding. */
bool base64_is_strict(const char *text, size_t n);

#endif
