/* Pictures on their way to a client. A block that is not base64, or whose bytes do not match its type, makes clients reject the whole
 * answer (and model APIs the whole conversation), and pictures come from a sandbox, so nothing goes out unchecked. */
#ifndef HUSK_MCP_IMAGE_H
#define HUSK_MCP_IMAGE_H

#include "base/buf.h"

/* How well clients take a type: > 0 for the four that they show, more is better; 0 for the rest. */
int image_rank(const char *type);
/* The base64 text, padded and without white space, owned by the caller, with its size and the type that its first bytes show (static).
 * NULL if it is not a picture that clients take. */
char *image_take(const char *data, size_t n, const char **ret_type, size_t *ret_bytes);

#endif
