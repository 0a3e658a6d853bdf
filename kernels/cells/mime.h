/* MIME types as the keys of a bundle. */
#pragma once

#include <stdbool.h>

#define MIME_MAX 128 /* bytes of a type */

/* True if the type is short, contains a slash, and is printable ASCII that JSON need not escape. */
bool mime_valid(const char *mime);
