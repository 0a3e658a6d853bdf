/* Makes JSON values from arbitrary text, and text from JSON values. */
#ifndef HUSK_BASE_JSON_H
#define HUSK_BASE_JSON_H

#include <jansson.h>

#include "base/buf.h"

/* A JSON string. Text that is not valid UTF-8 is cleaned first (utf8_clean()). New reference, never NULL. */
json_t *json_text(const char *s);
/* Untrusted text, always cleaned for display by utf8_clean(). Not for text with Husk's own labels. */
json_t *json_shown(const char *s);
/* An untrusted name: utf8_clean_name(). */
json_t *json_name(const char *s);

/* Prints the same as json_dumps(…, JSON_COMPACT | JSON_ENCODE_ANY), but ten times as fast for long strings (a picture
 * of half a megabyte is copied, not examined byte by byte), and real numbers have no superfluous digits. */
void json_print(struct buf *out, const json_t *value);
/* Prints the object with one more member, whose value is JSON text and is copied unchanged. name NULL = no extra
 * member. */
void json_print_with(struct buf *out, const json_t *object, const char *name, const char *json);
/* How many bytes json_print() would append. */
size_t json_print_size(const json_t *value);

#endif
