/* Checks pictures for clients. A block that is not base64, or whose bytes do not match its type, makes clients
 * reject the whole answer, and model APIs the whole conversation. Pictures come from sessions, so all of them are
 * checked. */
#ifndef HUSK_MCP_IMAGE_H
#define HUSK_MCP_IMAGE_H

#include "base/buf.h"

/* How well clients support a type: > 0 for the four that they show, higher is better; 0 for the rest. */
int image_rank(const char *type);
/* Returns the base64 text, padded and without white space, owned by the caller, with its size and the type of its
 * bytes (static). NULL unless it is exactly one complete picture that clients accept: parts consistent, checksums
 * right (PNG), nothing after it, sides from 1 to 8000 pixels. Pixels are not decoded. */
char *image_take(const char *data, size_t n, const char **ret_type, size_t *ret_bytes);

/* The checksum of a PNG's chunk: of its type and data. */
uint32_t image_crc(const uint8_t *data, size_t n);

#endif
