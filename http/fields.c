#include "http/fields.h"

#include <errno.h>
#include <strings.h>

#include "base/alloc.h"

void http_fields_release(struct http_fields *f)
{
	buf_release(&f->text);
	f->n = 0;
}

void http_fields_reset(struct http_fields *f)
{
	buf_reset(&f->text);
	f->n = 0;
}

static bool is_token(const char *s)
{
	static const bool in_tokens[256] = {
		['0' ... '9'] = true, ['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['!'] = true,	 ['#'] = true,
		['$'] = true,	      ['%'] = true,	    ['&'] = true,	  ['\''] = true, ['*'] = true,
		['+'] = true,	      ['-'] = true,	    ['.'] = true,	  ['^'] = true,	 ['_'] = true,
		['`'] = true,	      ['|'] = true,	    ['~'] = true,
	};
	const char *end = s;
	while (in_tokens[(unsigned char)*end])
		end++;
	return end > s && !*end;
}

static bool is_text(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f)
			return false;
	return true;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

int http_fields_add(struct http_fields *f, const char *name, const char *value)
{
	if (f->n == HTTP_FIELDS_MAX)
		return -E2BIG;
	size_t n = strlen(value);
	while (n && is_space(value[n - 1]))
		n--;
	while (n && is_space(*value))
		value++, n--;
	if (!is_token(name) || !is_text(value, n))
		return -EINVAL;
	size_t name_at = f->text.len, length = strlen(name);
	uint8_t *to = buf_reserve(&f->text, length + n + 2);
	if (!to)
		return -E2BIG;
	for (size_t i = 0; i < length; i++)
		to[i] = (uint8_t)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] | 0x20 : name[i]);
	to[length] = 0;
	memcpy(to + length + 1, value, n);
	to[length + 1 + n] = 0;
	f->text.len += length + n + 2;
	f->names[f->n] = (uint32_t)name_at;
	f->values[f->n] = (uint32_t)(name_at + length + 1);
	f->n++;
	return 0;
}

int http_fields_addf(struct http_fields *f, const char *name, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *value = xvasprintf(fmt, ap);
	va_end(ap);
	return http_fields_add(f, name, value);
}

const char *http_fields_name(const struct http_fields *f, size_t i)
{
	return (const char *)f->text.data + f->names[i];
}

const char *http_fields_value(const struct http_fields *f, size_t i)
{
	return (const char *)f->text.data + f->values[i];
}

const char *http_fields_get(const struct http_fields *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++)
		if (streq(http_fields_name(f, i), name))
			return http_fields_value(f, i);
	return NULL;
}

size_t http_fields_count(const struct http_fields *f, const char *name)
{
	size_t n = 0;
	for (size_t i = 0; i < f->n; i++)
		n += streq(http_fields_name(f, i), name);
	return n;
}

static const char *next_member(const char **at, size_t *length)
{
	const char *start = *at;
	while (is_space(*start) || *start == ',')
		start++;
	if (!*start)
		return NULL;
	bool quoted = false;
	const char *end = start;
	for (; *end && (quoted || *end != ','); end++) {
		if (quoted && *end == '\\' && end[1])
			end++;
		else if (*end == '"')
			quoted = !quoted;
	}
	*at = end;
	while (end > start && is_space(end[-1]))
		end--;
	*length = (size_t)(end - start);
	return start;
}

static bool is_member(const char *member, size_t length, const char *token)
{
	size_t n = strcspn(member, "; \t,");
	return MIN(n, length) == strlen(token) && strncasecmp(member, token, strlen(token)) == 0;
}

const char *http_fields_member(const struct http_fields *f, const char *name, struct http_members *m, size_t *length)
{
	for (;;) {
		const char *member = m->at ? next_member(&m->at, length) : NULL;
		if (member)
			return member;
		while (m->field < f->n && !streq(http_fields_name(f, m->field), name))
			m->field++;
		if (m->field == f->n)
			return NULL;
		m->at = http_fields_value(f, m->field++);
	}
}

bool http_fields_has(const struct http_fields *f, const char *name, const char *token)
{
	struct http_members members = { 0 };
	size_t length;
	for (const char *member; (member = http_fields_member(f, name, &members, &length));)
		if (is_member(member, length, token))
			return true;
	return false;
}
