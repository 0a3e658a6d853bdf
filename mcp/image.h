/* Checks pictures for clients. If a block is not base64, or its bytes do not match its type, clients reject the whole
 * answer, and model APIs the whole conversation. Pictures come from sessions, so all of them are checked. */
#ifndef HUSK_MCP_IMAGE_H
#define HUSK_MCP_IMAGE_H

#include "base/buf.h"

/* How well clients support a type: > 0 for the four that they show, higher is better; 0 for the rest. */
int image_rank(const char *type);
/* Returns the base64 text, padded and without white space, with the size and the type (static) of its bytes. Returns
 * NULL unless it is exactly one complete picture that clients accept: consistent parts, correct checksums (PNG),
 * nothing after it, sides from 1 to 8000 pixels. Pixels are not decoded. The caller owns the text. */
char *image_take(const char *data, size_t n, const char **ret_type, size_t *ret_bytes);

/* The checksum of a chunk in a PNG file, over its type and data. */
uint32_t image_crc(const uint8_t *data, size_t n);

#endif
