/* MIME bundles: what a Jupyter kernel displays, made into what the kernel link carries (docs/protocol.md, section 2). */
#ifndef HUSK_KERNELS_JUPYTER_BUNDLE_H
#define HUSK_KERNELS_JUPYTER_BUNDLE_H

#include <jansson.h>

#include "base/defs.h"

/* A new object with every type that the link takes: text without escapes and NULs, base64 without line breaks, lists of
 * lines joined. Other types are left out; it may be empty. Anything but an object gives an empty one. */
json_t *bundle_clean(const json_t *data);
/* The same value without NULs, which the link does not carry. A new reference. */
json_t *bundle_copy(const json_t *value);
/* A new string of any JSON string, or of a list of them joined by newlines; cleaned like text. Never NULL. */
json_t *bundle_text(const json_t *value);
/* About the bytes that the value takes as JSON. */
size_t bundle_size(const json_t *value);
/* Takes the largest type out. False if none was left. */
bool bundle_shrink(json_t *data);

#endif
