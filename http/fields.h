/* The fields (headers) of one message. `struct http_fields f = { 0 }` is empty. Names are kept in lower case, and
 * values without surrounding white space. HTTP_HEAD_MAX bounds the size of all fields of a parsed message,
 * HTTP_FIELDS_MAX their number. */
#ifndef HUSK_HTTP_FIELDS_H
#define HUSK_HTTP_FIELDS_H

#include "base/buf.h"

#define HTTP_HEAD_MAX 16384 /* request line and fields, as sent */
#define HTTP_FIELDS_MAX 64

struct http_fields {
	struct buf text; /* name NUL value NUL … */
	uint32_t names[HTTP_FIELDS_MAX], values[HTTP_FIELDS_MAX];
	size_t n;
};

void http_fields_release(struct http_fields *f);
/* Empties but keeps the memory. */
void http_fields_reset(struct http_fields *f);
/* 0, -E2BIG if there are too many, -EINVAL if the name is not a token or the value has a control character. */
int http_fields_add(struct http_fields *f, const char *name, const char *value);
int http_fields_addf(struct http_fields *f, const char *name, const char *fmt, ...) PRINTF_LIKE(3, 4);
const char *http_fields_name(const struct http_fields *f, size_t i);
const char *http_fields_value(const struct http_fields *f, size_t i);
/* The first value, or NULL. The name is in lower case, as in all functions below. */
const char *http_fields_get(const struct http_fields *f, const char *name);
size_t http_fields_count(const struct http_fields *f, const char *name);
/* Whether a comma-separated list, in any field of this name, has this token; any case. Parameters (;q=0) are
 * ignored. */
bool http_fields_has(const struct http_fields *f, const char *name, const char *token);

/* Walks the comma-separated members of all fields of a name, in order. `struct http_members m = { 0 }` is the start.
 * Returns a member without surrounding white space and its length, or NULL at the end. Commas inside double quotes do
 * not separate. */
struct http_members {
	const char *at; /* in the current value; NULL = the next field begins */
	size_t field;	/* index of the next field */
};
const char *http_fields_member(const struct http_fields *f, const char *name, struct http_members *m, size_t *length);

#endif
