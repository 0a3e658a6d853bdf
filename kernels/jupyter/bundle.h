/* MIME bundles: converts displays of a Jupyter kernel to those of the kernel link (docs/protocol.md, section 2). */
#ifndef HUSK_KERNELS_JUPYTER_BUNDLE_H
#define HUSK_KERNELS_JUPYTER_BUNDLE_H

#include <jansson.h>

#include "base/defs.h"

/* Returns a new object with every type that the link supports: text without escapes and NULs, base64 without line
 * breaks, lists of lines joined. Other types are left out. The result is empty if no type is left, or if `data` is not
 * an object. */
json_t *bundle_clean(const json_t *data);
/* The same value without NULs, which the link does not support. A new reference. */
json_t *bundle_copy(const json_t *value);
/* A new string from any JSON string, or from a list of strings joined by newlines; cleaned like text. Never NULL. */
json_t *bundle_text(const json_t *value);
/* Approximate size of the value as JSON, in bytes. */
size_t bundle_size(const json_t *value);
/* Removes the largest type. False if none was left. */
bool bundle_shrink(json_t *data);

#endif
