#include "jupyter/load.h"

#include <ctype.h>
#include <math.h>

#include "base/buf.h"
#include "base/shape.h"
#include "base/utf8.h"

#define REPLACEMENT "\\ufffd"
/* Digits of an integer: 18 digits always fit into 64 bits. */
#define DIGITS_MAX 18
#define NUMBER_MAX 400

static unsigned hex4(const uint8_t *s)
{
	unsigned value = 0;
	for (int i = 0; i < 4; i++) {
		if (!isxdigit(s[i]))
			return 0;
		value = value << 4 | (unsigned)(isdigit(s[i]) ? s[i] - '0' : (s[i] | 0x20) - 'a' + 10);
	}
	return value;
}

static bool is_unicode_escape(const uint8_t *s, size_t n)
{
	return n >= 6 && s[0] == '\\' && s[1] == 'u';
}

/* `s` is at a backslash. Copies the escape, or U+FFFD for half a surrogate pair. Returns the number of bytes read. */
static size_t mend_escape(struct buf *out, const uint8_t *s, size_t n)
{
	unsigned unit = is_unicode_escape(s, n) ? hex4(s + 2) : 0;
	size_t take = MIN(n, unit || is_unicode_escape(s, n) ? 6 : 2);
	if (unit >= 0xd800 && unit < 0xe000) {
		unsigned next = is_unicode_escape(s + 6, n - 6) ? hex4(s + 8) : 0;
		if (unit >= 0xdc00 || next < 0xdc00 || next >= 0xe000) {
			(void)buf_add_str(out, REPLACEMENT);
			return 6;
		}
		take = 12;
	}
	(void)buf_add(out, s, take);
	return take;
}

/* Reads from the opening quote. Returns the length of the whole string. */
static size_t mend_string(struct buf *out, const uint8_t *s, size_t n)
{
	size_t i = 1, from = 1;
	(void)buf_add(out, "\"", 1);
	while (i < n && s[i] != '"') {
		if (s[i] == '\\') {
			(void)buf_add(out, s + from, i - from);
			i += mend_escape(out, s + i, n - i);
			from = i;
		} else if (s[i] < 0x20) { /* JSON requires an escape here; some kernels omit it */
			(void)buf_add(out, s + from, i - from);
			(void)buf_printf(out, "\\u%04x", s[i]);
			from = ++i;
		} else {
			i++;
		}
	}
	i = MIN(i, n);
	(void)buf_add(out, s + from, i - from);
	if (i < n)
		(void)buf_add(out, s + i++, 1);
	return i;
}

/* Reads from a digit or a minus. An integer that is too long becomes a real, and a number that no real can hold becomes
 * null. */
static size_t mend_number(struct buf *out, const uint8_t *s, size_t n)
{
	char text[NUMBER_MAX];
	size_t i = s[0] == '-';
	if (n - i >= 8 && memcmp(s + i, "Infinity", 8) == 0) {
		(void)buf_add_str(out, "null");
		return i + 8;
	}
	size_t from = i;
	bool is_integer = true;
	for (; i < n && s[i] && (isdigit(s[i]) || strchr("+-.eE", s[i])); i++)
		is_integer &= isdigit(s[i]) != 0;
	int shown = snprintf(text, sizeof(text), "%.*s", (int)MIN(i, (size_t)NUMBER_MAX), (const char *)s);
	if (shown >= NUMBER_MAX || isinf(strtod(text, NULL)))
		(void)buf_add_str(out, "null");
	else
		(void)buf_printf(out, "%s%s", text, is_integer && i - from > DIGITS_MAX ? ".0" : "");
	return i;
}

static size_t mend_word(struct buf *out, const uint8_t *s, size_t n)
{
	size_t i = 0;
	while (i < n && isalpha(s[i]))
		i++;
	bool is_nan = (i == 3 && memcmp(s, "NaN", 3) == 0) || (i == 8 && memcmp(s, "Infinity", 8) == 0);
	if (is_nan)
		(void)buf_add_str(out, "null");
	else
		(void)buf_add(out, s, i);
	return i;
}

static size_t mend_one(struct buf *out, const uint8_t *s, size_t n)
{
	if (s[0] == '"')
		return mend_string(out, s, n);
	if (s[0] == '-' || isdigit(s[0]))
		return mend_number(out, s, n);
	if (isalpha(s[0]))
		return mend_word(out, s, n);
	(void)buf_add(out, s, 1);
	return 1;
}

/* Replaces each byte that does not belong to a UTF-8 character. */
static void mend_utf8(struct buf *out, const uint8_t *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t length = 1;
		if (s[i] >= 0x80)
			for (length = 2; length <= 4; length++)
				if (i + length <= n && utf8_valid(s + i, length))
					break;
		if (length > 4) {
			(void)buf_add_str(out, "\xef\xbf\xbd");
			length = 1;
		} else {
			(void)buf_add(out, s + i, length);
		}
		i += length;
	}
}

static json_t *load_mended(const uint8_t *data, size_t n)
{
	AUTO(buf_release) struct buf text = { 0 };
	AUTO(buf_release) struct buf mended = { 0 };
	mend_utf8(&text, data, n);
	for (size_t i = 0; i < text.len;)
		i += mend_one(&mended, text.data + i, text.len - i);
	return json_loadb((const char *)mended.data, mended.len, JSON_ALLOW_NUL, NULL);
}

json_t *load_object(const void *data, size_t n)
{
	struct shape shape = shape_of(data, n);
	if (shape.depth > LOAD_DEPTH_MAX || shape.containers > LOAD_CONTAINERS_MAX || shape.values > LOAD_VALUES_MAX)
		return NULL;
	/* xeus writes an empty value like this. */
	if (n == 4 && memcmp(data, "null", 4) == 0)
		return json_object();
	json_t *value = json_loadb(data, n, JSON_ALLOW_NUL, NULL);
	if (!value)
		value = load_mended(data, n);
	if (json_is_object(value))
		return value;
	json_decref(value);
	return NULL;
}
