/* The Range field: one part of a body. Several ranges in one request are answered with the whole body, which
 * RFC 9110 allows. */
#ifndef HUSK_HTTP_RANGE_H
#define HUSK_HTTP_RANGE_H

#include "http/fields.h"

enum http_range_result {
	HTTP_RANGE_WHOLE,     /* no range, or one to be ignored: 200 */
	HTTP_RANGE_PART,      /* 206 */
	HTTP_RANGE_IMPOSSIBLE /* 416 */
};

struct http_range {
	uint64_t first, length;
};

/* Reads Range and If-Range of a request for a body of `size` bytes; etag is its entity tag in quotes, or NULL. */
enum http_range_result http_range_parse(const struct http_fields *f, uint64_t size, const char *etag,
					struct http_range *ret);
/* Whether a list of entity tags (If-Match, If-None-Match) names this one. `*` matches any. A weak tag ("W/…") matches
 * only if weak comparison is asked for. */
bool http_etag_listed(const struct http_fields *f, const char *name, const char *etag, bool weak);

#endif
