/* Pictures on their way to a client. A block that is not base64, or whose bytes do not match its type, makes clients reject the whole
 * answer (and model APIs the whole conversation), and pictures come from a sandbox, so nothing goes out unchecked. */
#ifndef HUSK_MCP_IMAGE_H
#define HUSK_MCP_IMAGE_H

#include "base/buf.h"

/* How well clients take a type: > 0 for the four that they show, more is better; 0 for the rest. */
int image_rank(const char *type);
/* The base64 text, padded and without white space, owned by the caller, with its size and the type that its bytes show (static).
 * NULL if it is not, from its first byte to its last, a picture that clients take: its parts fit together, their checksums are
 * right (PNG), it is whole, nothing follows it, and its sides are from 1 to 8000 pixels. Pixels are not decoded. */
char *image_take(const char *data, size_t n, const char **ret_type, size_t *ret_bytes);

/* The checksum of a PNG's chunk: of its type and data. */
uint32_t image_crc(const uint8_t *data, size_t n);

#endif
