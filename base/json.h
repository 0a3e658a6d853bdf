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

/* Parses the same as json_loadb() with these flags of jansson (JSON_REJECT_DUPLICATES, JSON_ALLOW_NUL, JSON_DECODE_ANY),
 * several times as fast. NULL if the text is not valid. For messages; json_loadb() says where a file is wrong. */
json_t *json_parse(const void *data, size_t n, size_t flags);

/* Prints the same as json_dumps(…, JSON_COMPACT | JSON_ENCODE_ANY), but ten times as fast for long strings (a picture
 * of half a megabyte is copied, not examined byte by byte), and real numbers have no superfluous digits. */
void json_print(struct buf *out, const json_t *value);
/* Prints the object with one more member, whose value is JSON text and is copied unchanged. name NULL = no extra
 * member. */
void json_print_with(struct buf *out, const json_t *object, const char *name, const char *json);
/* Append a member to an object that `out` ends with, and that is not closed yet. Without a tree for it, a short message
 * is printed in a fraction of the time. Texts are valid UTF-8. */
void json_put_text(struct buf *out, const char *name, const char *text, size_t n);
void json_put_int(struct buf *out, const char *name, int64_t value);
void json_put(struct buf *out, const char *name, const json_t *value);
/* How many bytes json_print() would append; for a small value, an upper bound that takes less time to compute. */
size_t json_print_size(const json_t *value);

#endif
