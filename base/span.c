#include "base/span.h"

#include <ctype.h>

#include "base/outline.h"
#include "base/utf8.h"

size_t span_space(const uint8_t *s, size_t n)
{
	size_t i = 0;
	while (i < n && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r'))
		i++;
	return i;
}

/* True for \u and four hexadecimal digits. */
static bool is_code(const uint8_t *s, size_t n)
{
	return n >= 6 && s[0] == '\\' && s[1] == 'u' && isxdigit(s[2]) && isxdigit(s[3]) && isxdigit(s[4]) &&
	       isxdigit(s[5]);
}

static bool is_in_d(const uint8_t *code, char first, char last)
{
	return (code[2] | 0x20) == 'd' && (code[3] | 0x20) >= first && (code[3] | 0x20) <= last;
}

/* Length of the escape at s, or 0. Surrogates must come in pairs. */
static size_t escape(const uint8_t *s, size_t n)
{
	if (n >= 2 && s[1] && strchr("\"\\/bfnrt", s[1]))
		return 2;
	if (!is_code(s, n) || is_in_d(s, 'c', 'f'))
		return 0;
	if (!is_in_d(s, '8', '9') && !is_in_d(s, 'a', 'b'))
		return 6;
	return is_code(s + 6, n - 6) && is_in_d(s + 6, 'c', 'f') ? 12 : 0;
}

size_t span_string(const uint8_t *s, size_t n)
{
	if (!n || s[0] != '"')
		return 0;
	for (size_t i = 1; i < n;) {
		i += outline_plain_run(s + i, n - i);
		if (i >= n || s[i] < 0x20)
			return 0;
		if (s[i] == '"')
			return i + 1;
		size_t step = s[i] == '\\' ? escape(s + i, n - i) : utf8_sequence(s + i, n - i);
		if (!step)
			return 0;
		i += step;
	}
	return 0;
}

static size_t digits(const uint8_t *s, size_t n)
{
	size_t i = 0;
	while (i < n && isdigit(s[i]))
		i++;
	return i;
}

static size_t number(const uint8_t *s, size_t n)
{
	size_t i = n > 0 && s[0] == '-', whole = digits(s + i, n - i);
	if (!whole || (whole > 1 && s[i] == '0'))
		return 0;
	i += whole;
	if (i < n && s[i] == '.') {
		size_t part = digits(s + i + 1, n - i - 1);
		if (!part)
			return 0;
		i += 1 + part;
	}
	if (i < n && (s[i] | 0x20) == 'e') {
		i += 1 + (i + 1 < n && (s[i + 1] == '+' || s[i + 1] == '-'));
		size_t part = i < n ? digits(s + i, n - i) : 0;
		if (!part)
			return 0;
		i += part;
	}
	return i;
}

/* A value that contains no others. */
static size_t scalar(const uint8_t *s, size_t n)
{
	static const char *const words[] = { "true", "false", "null" };
	if (n && s[0] == '"')
		return span_string(s, n);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (n >= strlen(words[i]) && memcmp(s, words[i], strlen(words[i])) == 0)
			return strlen(words[i]);
	return number(s, n);
}

/* The "name": of an object's member, with surrounding space. */
static size_t name(const uint8_t *s, size_t n)
{
	size_t i = span_space(s, n), length = span_string(s + i, n - i);
	if (!length)
		return 0;
	i += length;
	i += span_space(s + i, n - i);
	return i < n && s[i] == ':' ? i + 1 : 0;
}

struct walk {
	const uint8_t *s;
	size_t n, at, depth;
	char open[SPAN_DEPTH_MAX]; /* the closing bracket of each level */
};

/* Enters a container. 1 if a value follows, 0 if the container is empty and closed, -1 if it is not valid. */
static int enter(struct walk *w)
{
	if (w->depth == SPAN_DEPTH_MAX)
		return -1;
	bool object = w->s[w->at] == '{';
	char close = object ? '}' : ']';
	w->at++;
	w->at += span_space(w->s + w->at, w->n - w->at);
	if (w->at < w->n && w->s[w->at] == (uint8_t)close) {
		w->at++;
		return 0;
	}
	w->open[w->depth++] = close;
	size_t length = object ? name(w->s + w->at, w->n - w->at) : 0;
	w->at += length;
	return object && !length ? -1 : 1;
}

/* Continues after a value. 1 if another follows, 0 if all containers are closed, -1 if it is not valid. */
static int leave(struct walk *w)
{
	while (w->depth) {
		w->at += span_space(w->s + w->at, w->n - w->at);
		if (w->at >= w->n)
			return -1;
		char byte = (char)w->s[w->at++], close = w->open[w->depth - 1];
		if (byte == close) {
			w->depth--;
			continue;
		}
		size_t length = byte == ',' && close == '}' ? name(w->s + w->at, w->n - w->at) : 0;
		w->at += length;
		return byte == ',' && (close == ']' || length) ? 1 : -1;
	}
	return 0;
}

size_t span_value(const uint8_t *s, size_t n)
{
	struct walk w = { .s = s, .n = n };
	for (int more = 1; more;) {
		w.at += span_space(s + w.at, n - w.at);
		if (w.at >= n)
			return 0;
		if (s[w.at] == '{' || s[w.at] == '[') {
			int entered = enter(&w);
			if (entered < 0)
				return 0;
			if (entered)
				continue;
		} else {
			size_t length = scalar(s + w.at, n - w.at);
			if (!length)
				return 0;
			w.at += length;
		}
		more = leave(&w);
		if (more < 0)
			return 0;
	}
	return w.at;
}
