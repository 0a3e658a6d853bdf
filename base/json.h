/* JSON values from text that may be anything, and text from JSON values. */
#ifndef HUSK_BASE_JSON_H
#define HUSK_BASE_JSON_H

#include <jansson.h>

#include "base/buf.h"

/* A JSON string. Text that is not valid UTF-8 is cleaned first (utf8_clean()). New reference, never NULL. */
json_t *json_text(const char *s);
/* Text that somebody else has a part in, as it may be shown to a reader: utf8_clean(). Not for text with labels of Husk's own. */
json_t *json_shown(const char *s);
/* A name that somebody else has chosen: utf8_clean_name(). */
json_t *json_name(const char *s);

/* What json_dumps(…, JSON_COMPACT | JSON_ENCODE_ANY) prints, ten times as fast where strings are long: a picture of half a
 * megabyte is copied, not looked at letter by letter. */
void json_print(struct buf *out, const json_t *value);
/* The object with one more member, whose value is JSON text and is copied as it is; name NULL = without. */
void json_print_with(struct buf *out, const json_t *object, const char *name, const char *json);
/* How many bytes json_print() would append. */
size_t json_print_size(const json_t *value);

#endif
