/* JSON values from text that may be anything. */
#ifndef HUSK_BASE_JSON_H
#define HUSK_BASE_JSON_H

#include <jansson.h>

/* A JSON string. Text that is not valid UTF-8 is cleaned first (utf8_clean()). New reference, never NULL. */
json_t *json_text(const char *s);

#endif
