/* Pictures on their way to a client. A block that is not base64, or whose bytes are not what its type
 * says, makes clients refuse the whole answer (and model APIs the whole conversation), so nothing goes out
 * unchecked: the sender is a sandbox. */
#ifndef HUSK_MCP_IMAGE_H
#define HUSK_MCP_IMAGE_H

#include "base/buf.h"

/* How much a client wants to see of a type: > 0 for the four that clients show, the highest first; 0 for
 * the rest. */
int image_rank(const char *type);
/* The base64 text without white space and padded, owned by the caller, and by its first bytes its type (static) and
 * size; NULL if it is no picture that clients take. */
char *image_take(const char *data, size_t n, const char **ret_type, size_t *ret_bytes);

#endif
