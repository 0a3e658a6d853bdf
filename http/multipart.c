#include "http/multipart.h"

#include <errno.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/buf.h"

/* Limit of the fields of one part. */
#define FIELDS_MAX 8192

void http_part_release(struct http_part *p)
{
	free(p->name);
	free(p->file);
	*p = (struct http_part){ 0 };
}

/* --- parameters of a field ----------------------------------------------------------------------------------------- */

static const char *skip_spaces(const char *s)
{
	return s + strspn(s, " \t");
}

/* Reads a value, quoted or not, and returns where it ends; NULL if a quote is missing. */
static const char *read_value(const char *s, struct buf *ret)
{
	if (*s != '"') {
		size_t n = strcspn(s, "; \t");
		buf_add(ret, s, n);
		return s + n;
	}
	for (s++; *s && *s != '"'; s++) {
		/* Before other characters, a backslash is part of a Windows path. */
		if (*s == '\\' && (s[1] == '"' || s[1] == '\\'))
			s++;
		buf_add(ret, s, 1);
	}
	return *s ? s + 1 : NULL;
}

/* The value of a parameter in `form-data; name="a"; filename="b"`, which the caller owns; NULL = there is none. */
static char *parameter(const char *field, const char *name)
{
	const char *s = field + strcspn(field, ";");
	while (*s == ';') {
		s = skip_spaces(s + 1);
		size_t n = strcspn(s, "=; \t");
		bool wanted = n == strlen(name) && strncasecmp(s, name, n) == 0;
		s = skip_spaces(s + n);
		if (*s != '=')
			continue;
		AUTO(buf_release) struct buf value = { 0 };
		s = read_value(skip_spaces(s + 1), &value);
		if (wanted && s)
			return buf_steal_str(&value);
		if (!s)
			return NULL;
		s = skip_spaces(s);
	}
	return NULL;
}

/* --- parts --------------------------------------------------------------------------------------------------------- */

static bool is_boundary(const char *s)
{
	size_t n = strlen(s);
	for (size_t i = 0; i < n; i++)
		if (!strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'()+_,-./:=? ", s[i]))
			return false;
	return n > 0 && n <= HTTP_BOUNDARY_MAX && s[n - 1] != ' ';
}

int http_multipart_begin(struct http_multipart *m, const char *content_type, const void *body, size_t n)
{
	static const char type[] = "multipart/form-data";
	if (!content_type || strncasecmp(content_type, type, sizeof(type) - 1) != 0)
		return -EINVAL;
	AUTO(freep) char *boundary = parameter(content_type, "boundary");
	if (!boundary || !is_boundary(boundary))
		return -EINVAL;
	*m = (struct http_multipart){ .at = body, .end = (const uint8_t *)body + n };
	snprintf(m->delimiter, sizeof(m->delimiter), "\r\n--%s", boundary);
	return 0;
}

static const uint8_t *find(const struct http_multipart *m, const uint8_t *from, const char *text)
{
	return memmem(from, (size_t)(m->end - from), text, strlen(text));
}

static bool begins(const struct http_multipart *m, const char *text)
{
	size_t n = strlen(text);
	return (size_t)(m->end - m->at) >= n && memcmp(m->at, text, n) == 0;
}

/* Moves behind the first delimiter, which may be without the line break before it. */
static int skip_preamble(struct http_multipart *m)
{
	const char *first = m->delimiter + 2;
	m->begun = true;
	if (!begins(m, first)) {
		m->at = find(m, m->at, m->delimiter);
		first = m->delimiter;
	}
	if (!m->at)
		return -EINVAL;
	m->at += strlen(first);
	return 0;
}

/* The fields of a part, each with its line break. */
static void read_fields(const char *text, struct http_part *ret)
{
	static const char disposition[] = "content-disposition:";
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\r\n");
		AUTO(freep) char *field = xstrndup(line, n);
		if (!ret->name && strncasecmp(field, disposition, sizeof(disposition) - 1) == 0) {
			ret->name = parameter(field, "name");
			ret->file = parameter(field, "filename");
		}
		line += n;
		line += strspn(line, "\r\n");
	}
	if (!ret->name)
		ret->name = xstrdup("");
}

int http_multipart_next(struct http_multipart *m, struct http_part *ret)
{
	struct http_part part = { 0 };
	if (!m->begun && skip_preamble(m) < 0)
		return -EINVAL;
	if (begins(m, "--"))
		return 0;
	while (m->at < m->end && (*m->at == ' ' || *m->at == '\t'))
		m->at++;
	/* The fields end with an empty line; there may be none. */
	const uint8_t *fields = m->at, *blank = begins(m, "\r\n") ? find(m, fields, "\r\n\r\n") : NULL;
	if (!blank || blank - fields > FIELDS_MAX || memchr(fields, 0, (size_t)(blank - fields)))
		return -EINVAL;
	part.data = blank + 4;
	/* The line break of an empty content may be that of the empty line. */
	const uint8_t *stop = find(m, blank + 2, m->delimiter);
	if (!stop)
		return -EINVAL;
	part.n = stop > part.data ? (size_t)(stop - part.data) : 0;
	AUTO(freep) char *text = xstrndup((const char *)fields, (size_t)(blank - fields));
	read_fields(text, &part);
	m->at = stop + strlen(m->delimiter);
	*ret = part;
	return 1;
}
