#include "base/json.h"

#include "base/outline.h"
#include "base/utf8.h"

/* A number with 17 digits, its sign and its exponent. */
#define REAL_MAX 64
/* Bytes written at a time. */
#define ESCAPES 256u
/* Strings up to this length are printed byte by byte. */
#define SHORT_MAX 64u
/* Up to this size an upper bound is good enough. */
#define SMALL_MAX (16u << 10)

json_t *json_text(const char *s)
{
	size_t n = strlen(s);
	if (utf8_valid(s, n))
		return json_stringn_nocheck(s, n);
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, s, n);
	json_t *v = json_string(buf_str(&clean));
	return v ? v : json_string("");
}

json_t *json_shown(const char *s)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, s, strlen(s));
	json_t *v = json_stringn(buf_str(&clean), clean.len);
	return v ? v : json_string("");
}

json_t *json_name(const char *s)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean_name(&clean, s);
	json_t *v = json_stringn(buf_str(&clean), clean.len);
	return v ? v : json_string("");
}

/* --- printing ---------------------------------------------------------------------------------------------------- */

/* Returns the end of what it writes, at most six bytes. */
static uint8_t *put_escape(uint8_t *to, uint8_t byte)
{
	static const char shorts[] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'
	};
	static const char hex[] = "0123456789ABCDEF";
	*to++ = '\\';
	if (byte < sizeof(shorts) && shorts[byte]) {
		*to++ = (uint8_t)shorts[byte];
		return to;
	}
	to[0] = 'u';
	to[1] = to[2] = '0';
	to[3] = (uint8_t)hex[byte >> 4];
	to[4] = (uint8_t)hex[byte & 15];
	return to + 5;
}

static bool needs_escape(uint8_t byte)
{
	return byte < 0x20 || byte == '"' || byte == '\\';
}

/* Writes all consecutive escapes, several at a time, so that text full of escapes is as fast as other text.
 * Returns how many source bytes they cover. */
static size_t print_escapes(struct buf *out, const uint8_t *s, size_t n)
{
	size_t i = 0;
	while (i < n && needs_escape(s[i])) {
		uint8_t *start = buf_reserve(out, 6 * ESCAPES), *to = start;
		for (size_t end = MIN(n, i + ESCAPES); i < end && needs_escape(s[i]); i++)
			to = put_escape(to, s[i]);
		out->len += (size_t)(to - start);
	}
	return i;
}

static void put_byte(struct buf *out, char byte)
{
	if (out->len + 1 < out->cap && !out->max)
		out->data[out->len++] = (uint8_t)byte;
	else
		buf_add(out, &byte, 1);
}

/* Names and most values. */
static void print_short(struct buf *out, const uint8_t *s, size_t n)
{
	uint8_t *to = buf_reserve(out, 6 * n + 2);
	*to++ = '"';
	for (size_t i = 0; i < n; i++) {
		if (needs_escape(s[i]))
			to = put_escape(to, s[i]);
		else
			*to++ = s[i];
	}
	*to++ = '"';
	out->len = (size_t)(to - out->data);
}

static void print_string(struct buf *out, const char *text, size_t n)
{
	const uint8_t *s = (const uint8_t *)text;
	if (n <= SHORT_MAX) {
		print_short(out, s, n);
		return;
	}
	buf_add(out, "\"", 1);
	for (size_t i = 0; i < n;) {
		size_t start = i;
		do {
			i += outline_plain_run(s + i, n - i);
			if (i < n && !needs_escape(s[i]))
				i++;
		} while (i < n && !needs_escape(s[i]));
		buf_add(out, s + start, i - start);
		i += print_escapes(out, s + i, n - i);
	}
	buf_add(out, "\"", 1);
}

static void print_object(struct buf *out, const json_t *object)
{
	const char *name;
	size_t len, i = 0;
	json_t *value;
	put_byte(out, '{');
	json_object_keylen_foreach((json_t *)object, name, len, value)
	{
		if (i++)
			put_byte(out, ',');
		print_string(out, name, len);
		put_byte(out, ':');
		json_print(out, value);
	}
	put_byte(out, '}');
}

static void print_array(struct buf *out, const json_t *array)
{
	size_t i;
	json_t *value;
	put_byte(out, '[');
	json_array_foreach(array, i, value) {
		if (i)
			put_byte(out, ',');
		json_print(out, value);
	}
	put_byte(out, ']');
}

/* Prints 0.1 as 0.1 and not as 0.10000000000000001: as few digits as give the same number again. */
static void print_real(struct buf *out, const json_t *value)
{
	char number[REAL_MAX];
	size_t digits = 15;
	for (; digits < 17; digits++) {
		snprintf(number, sizeof(number), "%.*g", (int)digits, json_real_value(value));
		if (strtod(number, NULL) == json_real_value(value))
			break;
	}
	buf_add(out, number, json_dumpb(value, number, sizeof(number), JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits)));
}

void json_print(struct buf *out, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		print_object(out, value);
		break;
	case JSON_ARRAY:
		print_array(out, value);
		break;
	case JSON_STRING:
		print_string(out, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		buf_add_int(out, json_integer_value(value));
		break;
	case JSON_TRUE:
		buf_add(out, "true", 4);
		break;
	case JSON_FALSE:
		buf_add(out, "false", 5);
		break;
	case JSON_NULL:
		buf_add(out, "null", 4);
		break;
	case JSON_REAL:
		print_real(out, value);
		break;
	}
}

void json_print_with(struct buf *out, const json_t *object, const char *name, const char *json)
{
	json_print(out, object);
	if (!name)
		return;
	out->len--; /* drop the closing brace */
	if (json_object_size(object))
		buf_add(out, ",", 1);
	print_string(out, name, strlen(name));
	buf_add(out, ":", 1);
	buf_add_str(out, json);
	buf_add(out, "}", 1);
}

static void put_name(struct buf *out, const char *name)
{
	if (out->data[out->len - 1] != '{')
		put_byte(out, ',');
	print_string(out, name, strlen(name));
	put_byte(out, ':');
}

void json_put_text(struct buf *out, const char *name, const char *text, size_t n)
{
	put_name(out, name);
	print_string(out, text, n);
}

void json_put_int(struct buf *out, const char *name, int64_t value)
{
	put_name(out, name);
	buf_add_int(out, value);
}

void json_put(struct buf *out, const char *name, const json_t *value)
{
	put_name(out, name);
	json_print(out, value);
}

/* An upper bound: every byte of a string could need an escape. */
static size_t most_bytes(const json_t *value)
{
	const char *name;
	size_t len, i, sum = REAL_MAX;
	json_t *child;
	if (json_is_string(value))
		return 2 + 6 * json_string_length(value);
	json_object_keylen_foreach((json_t *)value, name, len, child)
	{
		sum += 4 + 6 * len + most_bytes(child);
	}
	json_array_foreach(value, i, child) {
		sum += 1 + most_bytes(child);
	}
	return sum;
}

size_t json_print_size(const json_t *value)
{
	size_t most = most_bytes(value);
	if (most <= SMALL_MAX)
		return most;
	AUTO(buf_release) struct buf text = { 0 };
	json_print(&text, value);
	return text.len;
}
