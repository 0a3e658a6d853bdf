#include "base/outline.h"

#include <ctype.h>

#include "base/alloc.h"
#include "base/utf8.h"

#define ONES 0x0101010101010101ull
#define HIGHS 0x8080808080808080ull
/* Maximum number of marks; a message with more long strings is parsed unchanged. */
#define STRINGS_MAX 4096u

void outline_release(struct outline *o)
{
	buf_release(&o->text);
	free(o->strings);
	*o = (struct outline){ 0 };
}

static uint64_t has_zero(uint64_t v)
{
	return (v - ONES) & ~v & HIGHS;
}

size_t outline_plain_run(const uint8_t *s, size_t n)
{
	size_t i = 0;
	for (uint64_t v; i + 8 <= n; i += 8) {
		memcpy(&v, s + i, 8);
		/* Matches quotes, backslashes, control characters and everything beyond ASCII. */
		if (has_zero(v ^ ONES * '"') | has_zero(v ^ ONES * '\\') | ((v - ONES * 0x20) & ~v & HIGHS) |
		    (v & HIGHS))
			break;
	}
	return i;
}

static bool is_hex(const uint8_t *s)
{
	return isxdigit(s[0]) && isxdigit(s[1]) && isxdigit(s[2]) && isxdigit(s[3]);
}

/* Length of the escape at s, or 0. Escapes for surrogates and NUL are left to the parser. */
static size_t escape_size(const uint8_t *s, size_t n)
{
	if (n >= 2 && strchr("\"\\/bfnrt", s[1]) && s[1])
		return 2;
	if (n < 6 || s[1] != 'u' || !is_hex(s + 2) || ((s[2] | 0x20) == 'd' && s[3] >= '8'))
		return 0;
	return memcmp(s + 2, "0000", 4) == 0 ? 0 : 6;
}

/* s points after an opening quote. Returns the offset of the closing quote, or n if there is none or the string is not
 * valid. */
static size_t string_end(const uint8_t *s, size_t n, bool *ret_escaped)
{
	*ret_escaped = false;
	for (size_t i = 0; i < n;) {
		i += outline_plain_run(s + i, n - i);
		if (i >= n)
			break;
		size_t step = 1;
		if (s[i] == '"')
			return i;
		if (s[i] == '\\') {
			*ret_escaped = true;
			step = escape_size(s + i, n - i);
		} else if (s[i] < 0x20) {
			step = 0;
		} else if (s[i] >= 0x80) {
			step = utf8_sequence(s + i, n - i);
		}
		if (!step)
			break;
		i += step;
	}
	return n;
}

static bool is_name(const uint8_t *after, size_t n)
{
	size_t i = 0;
	while (i < n && strchr(" \t\r\n", after[i]) && after[i])
		i++;
	return i < n && after[i] == ':';
}

static void leave_out(struct outline *o, const uint8_t *s, size_t n)
{
	if (!*o->mark) {
		buf_add_str(&o->text, "\"\"");
		return;
	}
	o->strings = xrealloc(o->strings, (o->n + 1) * sizeof(*o->strings));
	o->strings[o->n] = (struct outline_string){ .at = (const char *)s, .len = n };
	buf_printf(&o->text, "\"%s%zu\"", o->mark, o->n++);
}

void outline_make(struct outline *o, const void *json, size_t n, size_t min, const char *mark)
{
	const uint8_t *s = json;
	size_t kept = 0; /* copied to the text up to here */
	*o = (struct outline){ .mark = mark ? mark : "" };
	for (size_t i = 0; i < n; i++) {
		if (s[i] != '"')
			continue;
		bool escaped;
		size_t start = i + 1, len = string_end(s + start, n - start, &escaped), end = start + len;
		if (end >= n)
			break; /* invalid; the parser reports it */
		i = end;
		if (len < min || (escaped && *o->mark) || o->n == STRINGS_MAX || is_name(s + end + 1, n - end - 1))
			continue;
		buf_add(&o->text, s + kept, start - 1 - kept);
		leave_out(o, s + start, len);
		kept = end + 1;
	}
	buf_add(&o->text, s + kept, n - kept);
}

const struct outline_string *outline_find(const struct outline *o, const char *value)
{
	size_t n = strlen(o->mark);
	if (!n || !o->n || strncmp(value, o->mark, n) != 0)
		return NULL;
	char *end;
	unsigned long i = strtoul(value + n, &end, 10);
	return *end || end == value + n || i >= o->n ? NULL : &o->strings[i];
}
