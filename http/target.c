#include "http/target.h"

#include <errno.h>
#include <strings.h>

#include "base/percent.h"
#include "base/utf8.h"

void http_target_release(struct http_target *t)
{
	buf_release(&t->text);
	t->n_segments = t->n_parameters = 0;
}

/* Appends n bytes decoded and a NUL, and stores where they begin. */
static int add_decoded(struct http_target *t, const char *s, size_t n, bool plus, uint32_t *at)
{
	*at = (uint32_t)t->text.len;
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)s[i];
		if (c == '%') {
			int byte = percent_byte(s + i, n - i);
			if (byte < 0)
				return -EINVAL;
			c = (uint8_t)byte;
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		if (!c)
			return -EINVAL;
		buf_add(&t->text, &c, 1);
	}
	buf_add(&t->text, "", 1);
	return utf8_valid(t->text.data + *at, t->text.len - 1 - *at) ? 0 : -EINVAL;
}

static int add_segment(struct http_target *t, const char *s, size_t n)
{
	if (t->n_segments == HTTP_SEGMENTS_MAX)
		return -E2BIG;
	int r = add_decoded(t, s, n, false, &t->segments[t->n_segments]);
	if (r < 0)
		return r;
	const char *segment = (const char *)t->text.data + t->segments[t->n_segments++];
	return !*segment || streq(segment, ".") || streq(segment, "..") || strchr(segment, '/') ? -EINVAL : 0;
}

static int parse_path(struct http_target *t, const char *s, size_t n)
{
	if (!n || *s != '/')
		return -EINVAL;
	t->folder = s[n - 1] == '/';
	size_t at = 1, end = n - (t->folder && n > 1);
	while (at < end) {
		const char *slash = memchr(s + at, '/', end - at);
		size_t length = slash ? (size_t)(slash - s) - at : end - at;
		int r = add_segment(t, s + at, length);
		if (r < 0)
			return r;
		at += length + 1;
	}
	/* In "/a//" the slash before the last one would be an empty segment. */
	return at == end && n > 1 ? -EINVAL : 0;
}

static int parse_parameter(struct http_target *t, const char *s, size_t n)
{
	if (!n)
		return 0;
	if (t->n_parameters == HTTP_PARAMETERS_MAX)
		return -E2BIG;
	const char *equals = memchr(s, '=', n);
	size_t name = equals ? (size_t)(equals - s) : n;
	int r = add_decoded(t, s, name, true, &t->names[t->n_parameters]);
	if (r == 0)
		r = add_decoded(t, s + name + (equals != NULL), n - name - (equals != NULL), true,
				&t->values[t->n_parameters]);
	t->n_parameters += r == 0;
	return r;
}

static int parse_query(struct http_target *t, const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "&");
		int r = parse_parameter(t, s, n);
		if (r < 0)
			return r;
		s += n + (s[n] == '&');
	}
	return 0;
}

static const char *skip_origin(const char *target)
{
	size_t scheme = strncasecmp(target, "http://", 7) == 0 ? 7 : strncasecmp(target, "https://", 8) == 0 ? 8 : 0;
	return scheme ? target + scheme + strcspn(target + scheme, "/?#") : target;
}

int http_target_parse(struct http_target *t, const char *target)
{
	buf_reset(&t->text);
	t->n_segments = t->n_parameters = 0;
	const char *path = skip_origin(target);
	if (strchr(path, '#'))
		return -EINVAL;
	size_t n = strcspn(path, "?");
	int r = parse_path(t, path, n);
	return r == 0 && path[n] ? parse_query(t, path + n + 1) : r;
}

const char *http_target_segment(const struct http_target *t, size_t i)
{
	return i < t->n_segments ? (const char *)t->text.data + t->segments[i] : NULL;
}

const char *http_target_parameter(const struct http_target *t, const char *name)
{
	for (size_t i = 0; i < t->n_parameters; i++)
		if (streq((const char *)t->text.data + t->names[i], name))
			return (const char *)t->text.data + t->values[i];
	return NULL;
}
