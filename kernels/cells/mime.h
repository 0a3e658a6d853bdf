/* MIME types as the keys of a bundle. */
#pragma once

#include <stdbool.h>

#define MIME_MAX 128 /* bytes of a type */

/* Printable ASCII with a slash in it, short, and without characters that JSON would have to escape. */
bool mime_valid(const char *mime);
