#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define NUL_MARK "\xe2\x90\x80"	   /* U+2400 */
#define ESC 0x1b
#define BEL 0x07

static bool is_continuation(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/* Length of the well-formed sequence at s, or 0. Table 3-7 of the Unicode standard: no overlong forms, no surrogates. */
static size_t sequence(const uint8_t *s, size_t n)
{
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		return n >= 2 && is_continuation(s[1]) ? 2 : 0;
	if (s[0] >= 0xe0 && s[0] <= 0xef) {
		uint8_t low = s[0] == 0xe0 ? 0xa0 : 0x80, high = s[0] == 0xed ? 0x9f : 0xbf;
		return n >= 3 && s[1] >= low && s[1] <= high && is_continuation(s[2]) ? 3 : 0;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		uint8_t low = s[0] == 0xf0 ? 0x90 : 0x80, high = s[0] == 0xf4 ? 0x8f : 0xbf;
		return n >= 4 && s[1] >= low && s[1] <= high && is_continuation(s[2]) && is_continuation(s[3]) ? 4 : 0;
	}
	return 0;
}

static size_t skip_csi(const uint8_t *s, size_t n)
{
	size_t i = 2;
	while (i < n && s[i] >= 0x20 && s[i] <= 0x3f)
		i++;
	return i < n && s[i] >= 0x40 && s[i] <= 0x7e ? i + 1 : i;
}

/* OSC, DCS, APC, PM, SOS: up to BEL or ESC \, but never past the end of the line. There is no terminator before *no_end; this keeps a
 * line full of introducers from being searched again for each of them. */
static size_t skip_string(const uint8_t *s, size_t n, const uint8_t **no_end)
{
	size_t i = 2;
	if (s < *no_end)
		return 2;
	for (; i < n && s[i] != '\n'; i++) {
		if (s[i] == BEL)
			return i + 1;
		if (s[i] == ESC && i + 1 < n && s[i + 1] == '\\')
			return i + 2;
	}
	*no_end = s + i;
	return 2;
}

static size_t skip_escape(const uint8_t *s, size_t n, const uint8_t **no_end)
{
	if (n < 2)
		return 1;
	if (s[1] == '[')
		return skip_csi(s, n);
	if (s[1] == ']' || s[1] == 'P' || s[1] == 'X' || s[1] == '^' || s[1] == '_')
		return skip_string(s, n, no_end);
	if (s[1] >= 0x20 && s[1] <= 0x2f) /* ESC ( B and its like: intermediates, then one final byte */
		return n >= 3 ? 3 : 2;
	return s[1] >= 0x30 && s[1] <= 0x7e ? 2 : 1;
}

static bool is_plain(uint8_t byte)
{
	return (byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\t' || byte == '\r' || byte == '\b';
}

void utf8_clean(struct buf *out, const void *data, size_t n)
{
	const uint8_t *s = data, *no_end = s;
	for (size_t i = 0; i < n;) {
		size_t run = i;
		while (run < n && is_plain(s[run]))
			run++;
		if (run > i) {
			buf_add(out, s + i, run - i);
			i = run;
			continue;
		}
		size_t length = sequence(s + i, n - i);
		if (s[i] == ESC) {
			i += skip_escape(s + i, n - i, &no_end);
		} else if (s[i] == 0) {
			buf_add_str(out, NUL_MARK);
			i++;
		} else if (length >= 2) {
			buf_add(out, s + i, length);
			i += length;
		} else {
			buf_add_str(out, REPLACEMENT);
			i++;
		}
	}
}

bool utf8_valid(const void *data, size_t n)
{
	const uint8_t *s = data;
	for (size_t i = 0; i < n;) {
		size_t length = sequence(s + i, n - i);
		if (length == 0)
			return false;
		i += length;
	}
	return true;
}

size_t utf8_count(const char *s, size_t n)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		count += !is_continuation((uint8_t)s[i]);
	return count;
}

size_t utf8_head(const char *s, size_t n, size_t chars)
{
	size_t i = 0;
	for (; i < n; i++)
		if (!is_continuation((uint8_t)s[i]) && chars-- == 0)
			break;
	return i;
}

size_t utf8_tail(const char *s, size_t n, size_t chars)
{
	size_t i = n;
	while (i > 0 && chars > 0)
		chars -= !is_continuation((uint8_t)s[--i]);
	return n - i;
}

size_t utf8_partial_end(const void *data, size_t n)
{
	const uint8_t *s = data;
	for (size_t back = 1; back <= 3 && back <= n; back++) {
		uint8_t byte = s[n - back];
		if (is_continuation(byte))
			continue;
		size_t need = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
		return need > back ? back : 0;
	}
	return 0;
}

size_t utf8_partial_start(const void *data, size_t n)
{
	const uint8_t *s = data;
	size_t i = 0;
	while (i < 3 && i < n && is_continuation(s[i]))
		i++;
	return i;
}
