#include "http/range.h"

#include <errno.h>

#include "base/parse.h"

/* Digits up to `end`; -1 if there are none, or if the number is out of range. */
static int read_number(const char *s, const char *end, uint64_t *ret)
{
	char digits[24];
	size_t n = (size_t)(end - s);
	if (!n || n >= sizeof(digits))
		return -1;
	memcpy(digits, s, n);
	digits[n] = 0;
	return parse_u64(digits, ret) < 0 ? -1 : 0;
}

static enum http_range_result read_range(const char *s, uint64_t size, struct http_range *ret)
{
	const char *dash = strchr(s, '-'), *end = s + strlen(s);
	uint64_t first, last;
	if (!dash || strchr(s, ','))
		return HTTP_RANGE_WHOLE;
	if (dash == s) { /* "-500": the last 500 bytes */
		if (read_number(dash + 1, end, &last) < 0)
			return HTTP_RANGE_WHOLE;
		if (!last || !size)
			return HTTP_RANGE_IMPOSSIBLE;
		*ret = (struct http_range){ size - MIN(last, size), MIN(last, size) };
		return HTTP_RANGE_PART;
	}
	if (read_number(s, dash, &first) < 0)
		return HTTP_RANGE_WHOLE;
	last = UINT64_MAX;
	if (dash + 1 < end && (read_number(dash + 1, end, &last) < 0 || last < first))
		return HTTP_RANGE_WHOLE;
	if (first >= size)
		return HTTP_RANGE_IMPOSSIBLE;
	*ret = (struct http_range){ first, MIN(last, size - 1) - first + 1 };
	return HTTP_RANGE_PART;
}

enum http_range_result http_range_parse(const struct http_fields *f, uint64_t size, const char *etag,
					struct http_range *ret)
{
	const char *range = http_fields_get(f, "range"), *if_range = http_fields_get(f, "if-range");
	if (!range || strncmp(range, "bytes=", 6) != 0 || http_fields_count(f, "range") > 1)
		return HTTP_RANGE_WHOLE;
	if (if_range && (!etag || !streq(if_range, etag)))
		return HTTP_RANGE_WHOLE;
	return read_range(range + 6, size, ret);
}

static bool is_etag(const char *member, size_t length, const char *etag, bool weak)
{
	if (length == 1 && *member == '*')
		return true;
	if (weak && length > 2 && memcmp(member, "W/", 2) == 0)
		member += 2, length -= 2;
	return length == strlen(etag) && memcmp(member, etag, length) == 0;
}

bool http_etag_listed(const struct http_fields *f, const char *name, const char *etag, bool weak)
{
	struct http_members members = { 0 };
	size_t length;
	for (const char *member; (member = http_fields_member(f, name, &members, &length));)
		if (is_etag(member, length, etag, weak))
			return true;
	return false;
}
