/* The target of a request, split: "/v1/files/a%20b?x=1&y" has the segments v1, files, "a b" and the parameters x and y.
 * Only the origin form is parsed; the origin of an absolute form, which proxies send ("http://host/path"), is removed
 * first. */
#ifndef HUSK_HTTP_TARGET_H
#define HUSK_HTTP_TARGET_H

#include "base/buf.h"

#define HTTP_SEGMENTS_MAX 64
#define HTTP_PARAMETERS_MAX 32

struct http_target {
	struct buf text; /* decoded parts, each NUL-terminated */
	uint32_t segments[HTTP_SEGMENTS_MAX];
	size_t n_segments;
	bool folder; /* the path ends with a slash, which is not a segment */
	uint32_t names[HTTP_PARAMETERS_MAX], values[HTTP_PARAMETERS_MAX];
	size_t n_parameters;
};

void http_target_release(struct http_target *t);
/* 0, or -EINVAL: not a path, a bad escape, a NUL or invalid UTF-8 after decoding, an empty segment, "." or "..", a
 * slash inside a segment (%2F); -E2BIG: too many parts. A path is checked here once, so that no later layer decodes
 * it again. */
int http_target_parse(struct http_target *t, const char *target);
const char *http_target_segment(const struct http_target *t, size_t i);
/* The first value of a parameter; "" if it has no '='; NULL if the parameter is missing. */
const char *http_target_parameter(const struct http_target *t, const char *name);

#endif
