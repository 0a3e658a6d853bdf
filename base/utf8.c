#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
#define NUL_MARK "\xe2\x90\x80"	   /* U+2400 */
#define ESC 0x1b
#define BEL 0x07
#define MARK_SIZE 3 /* length of both */
/* Bytes written at a time. */
#define MARKS 256u

/* Eight bytes at once, because most text is long and plain. */
#define ONES 0x0101010101010101ull
#define HIGHS 0x8080808080808080ull

static uint64_t eight(const void *s)
{
	uint64_t v;
	memcpy(&v, s, sizeof(v));
	return v;
}

static bool is_continuation(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/* How many of the eight bytes begin a character. */
static size_t eight_starts(const void *s)
{
	uint64_t v = eight(s), continuations = v >> 7 & ~(v >> 6) & ONES;
	return 8 - (size_t)(continuations * ONES >> 56);
}

/* Table 3-7 of the Unicode standard: no overlong forms, no surrogates. */
size_t utf8_sequence(const uint8_t *s, size_t n)
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

/* OSC, DCS, APC, PM, SOS: up to BEL or ESC \, but never past the end of the line. There is no terminator before
 * *no_end; this keeps a line full of introducers from being searched again for each of them. */
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

size_t utf8_escape(const uint8_t *s, size_t n, const uint8_t **no_end)
{
	if (n < 2)
		return 1;
	if (s[1] == '[')
		return skip_csi(s, n);
	if (s[1] == ']' || s[1] == 'P' || s[1] == 'X' || s[1] == '^' || s[1] == '_')
		return skip_string(s, n, no_end);
	if (s[1] >= 0x20 && s[1] <= 0x2f) /* ESC ( B and similar: intermediates, then one final byte */
		return n >= 3 ? 3 : 2;
	return s[1] >= 0x30 && s[1] <= 0x7e ? 2 : 1;
}

static bool is_plain(uint8_t byte)
{
	return (byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\t' || byte == '\r' || byte == '\b';
}

/* A lower bound of how many bytes at s are plain. */
static size_t plain_run(const uint8_t *s, size_t n)
{
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		uint64_t v = eight(s + i), rubout = v ^ ONES * 0x7f;
		if (v & HIGHS || ((v - ONES * 0x20) & ~v & HIGHS) || ((rubout - ONES) & ~rubout & HIGHS))
			break;
	}
	return i;
}

uint32_t utf8_decode(const uint8_t *s, size_t length)
{
	static const uint8_t first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t c = s[0] & first_bits[length];
	for (size_t i = 1; i < length; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

size_t utf8_write(uint8_t to[static 4], uint32_t c)
{
	size_t n = 0;
	if (c < 0x80) {
		to[n++] = (uint8_t)c;
		return n;
	}
	if (c < 0x800) {
		to[n++] = (uint8_t)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		to[n++] = (uint8_t)(0xe0 | c >> 12);
		to[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	} else {
		to[n++] = (uint8_t)(0xf0 | (c >> 18 & 7));
		to[n++] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
		to[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	}
	to[n++] = (uint8_t)(0x80 | (c & 0x3f));
	return n;
}

struct range {
	uint32_t first, last;
};

/* The ranges are sorted. */
static bool is_in(uint32_t c, const struct range *ranges, size_t n)
{
	size_t low = 0;
	while (low < n) {
		size_t middle = low + (n - low) / 2;
		if (c > ranges[middle].last)
			low = middle + 1;
		else if (c < ranges[middle].first)
			n = middle;
		else
			return true;
	}
	return false;
}

/* Invisible characters that writing needs: allowed once, after a visible character. */
static bool is_joiner(uint32_t c)
{
	return c == 0x200c || c == 0x200d;
}

/* Variation selectors choose between two forms of the character before them. The 256 selectors could spell a
 * message after any letter. */
static bool is_selector(uint32_t c)
{
	return c >= 0xfe00 && c <= 0xfe0f;
}

/* Characters for which a selector has a meaning: emoji, keycaps, symbols with two forms, and ideographs. */
static bool takes_selector(uint32_t c)
{
	static const struct range bases[] = {
		{ '#', '#' },	    { '*', '*' },	{ '0', '9' },	    { 0xa9, 0xa9 },	  { 0xae, 0xae },
		{ 0x203c, 0x203c }, { 0x2049, 0x2049 }, { 0x2122, 0x2122 }, { 0x2139, 0x2139 },	  { 0x2190, 0x21ff },
		{ 0x2200, 0x22ff }, { 0x2300, 0x23ff }, { 0x2460, 0x24ff }, { 0x25a0, 0x27bf },	  { 0x2900, 0x297f },
		{ 0x2a00, 0x2aff }, { 0x2b00, 0x2bff }, { 0x3001, 0x303d }, { 0x3297, 0x3299 },	  { 0x3400, 0x4dbf },
		{ 0x4e00, 0x9fff }, { 0xf900, 0xfaff }, { 0xff01, 0xff1f }, { 0x1f000, 0x1faff }, { 0x20000, 0x3ffff },
	};
	return is_in(c, bases, ARRAY_LEN(bases));
}

/* Characters that a model reads and people do not see: they reorder, hide or carry text, or look like a blank. */
static bool is_hidden(uint32_t c)
{
	static const struct range ranges[] = {
		{ 0xad, 0xad },	      { 0x34f, 0x34f },	    { 0x61c, 0x61c },	{ 0x115f, 0x1160 },
		{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x200b, 0x200b }, { 0x200e, 0x200f },
		{ 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x2800, 0x2800 }, { 0x3164, 0x3164 },
		{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
		{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
	};
	return is_in(c, ranges, ARRAY_LEN(ranges));
}

/* The replacement for a character that looks like a bracket of Husk's own labels; NULL = none needed. */
static const char *bracket(uint32_t c)
{
	switch (c) {
	case 0x27e6: /* ⟦ */
	case 0x301a: /* 〚 */
	case 0x2045: /* ⁅ */
	case 0x2983: /* ⦃ */
	case 0x2985: /* ⦅ */
	case 0x2e28: /* ⸨ */
	case 0x2e55: /* ⹕ */
	case 0x3016: /* 〖 */
	case 0x3018: /* 〘 */
	case 0xff5f: /* ｟ */
		return "[[";
	case 0x27e7: /* ⟧ */
	case 0x301b: /* 〛 */
	case 0x2046: /* ⁆ */
	case 0x2984: /* ⦄ */
	case 0x2986: /* ⦆ */
	case 0x2e29: /* ⸩ */
	case 0x2e56: /* ⹖ */
	case 0x3017: /* 〗 */
	case 0x3019: /* 〙 */
	case 0xff60: /* ｠ */
		return "]]";
	default:
		return NULL;
	}
}

/* A long sequence can itself be a message, so only its first characters and a count are shown. */
#define HIDDEN_NAMED 4

static void add_hidden(struct buf *out, const uint32_t *first, size_t run)
{
	for (size_t i = 0; i < MIN(run, HIDDEN_NAMED); i++)
		buf_printf(out, "<U+%04X>", first[i]);
	if (run > HIDDEN_NAMED)
		buf_printf(out, "<%zu more hidden characters>", run - HIDDEN_NAMED);
}

struct cleaning {
	struct buf *out;
	const uint8_t *kept; /* unchanged bytes that are not in `out` yet */
	size_t n_kept;
	uint32_t hidden[HIDDEN_NAMED];
	size_t run;
	bool joinable; /* the last character may carry a joiner */
	uint32_t last; /* the character before, if it is shown: it may carry a variation selector */
};

static void add_kept(struct cleaning *c)
{
	buf_add(c->out, c->kept, c->n_kept);
	c->n_kept = 0;
}

static void end_hidden(struct cleaning *c)
{
	if (!c->run)
		return;
	add_hidden(c->out, c->hidden, c->run);
	c->run = 0;
}

/* Fast path for consecutive characters beyond ASCII. */
static void keep(struct cleaning *c, const uint8_t *s, size_t n)
{
	if (c->run || c->kept + c->n_kept != s) {
		add_kept(c);
		end_hidden(c);
		c->kept = s;
	}
	c->n_kept += n;
}

static void put(struct cleaning *c, const char *text)
{
	add_kept(c);
	end_hidden(c);
	buf_add_str(c->out, text);
}

static void add_character(struct cleaning *c, const uint8_t *s, size_t length)
{
	uint32_t code = utf8_decode(s, length);
	bool joiner = is_joiner(code);
	if (is_hidden(code) || (joiner && !c->joinable) || (is_selector(code) && !takes_selector(c->last))) {
		if (!c->run)
			add_kept(c);
		if (c->run < HIDDEN_NAMED)
			c->hidden[c->run] = code;
		c->run++;
		c->joinable = false;
		c->last = 0;
		return;
	}
	const char *label = bracket(code);
	c->joinable = !joiner;
	c->last = code;
	if (code >= 0x80 && code <= 0x9f)
		put(c, REPLACEMENT);
	else if (label)
		put(c, label);
	else
		keep(c, s, length);
}

/* True if the byte at s is neither text nor the start of an escape sequence. */
static bool is_bad(const uint8_t *s, size_t n)
{
	return s[0] != ESC && !is_plain(s[0]) && utf8_sequence(s, n) < 2;
}

/* Replaces consecutive bad bytes, several at a time; the first is known to be bad. Returns how many there were. */
static size_t add_marks(struct cleaning *c, const uint8_t *s, size_t n)
{
	size_t i = 0;
	add_kept(c);
	end_hidden(c);
	do {
		size_t end = MIN(n, i + MARKS);
		uint8_t *start = buf_reserve(c->out, MARK_SIZE * (end - i)), *to = start;
		if (!start)
			return n; /* full */
		do {
			/* NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
			memcpy(to, s[i] == 0 ? NUL_MARK : REPLACEMENT, MARK_SIZE);
			to += MARK_SIZE;
		} while (++i < end && is_bad(s + i, n - i));
		c->out->len += (size_t)(to - start);
	} while (i < n && is_bad(s + i, n - i));
	c->joinable = false;
	c->last = 0;
	return i;
}

void utf8_clean(struct buf *out, const void *data, size_t n)
{
	const uint8_t *s = data, *no_end = s;
	struct cleaning c = { .out = out, .kept = s };
	for (size_t i = 0; i < n;) {
		size_t run = i + plain_run(s + i, n - i);
		while (run < n && is_plain(s[run]))
			run += 1 + plain_run(s + run + 1, n - run - 1);
		if (run > i) {
			keep(&c, s + i, run - i);
			c.joinable = s[run - 1] > ' ';
			c.last = s[run - 1];
			i = run;
			continue;
		}
		size_t length = utf8_sequence(s + i, n - i);
		if (s[i] == ESC) {
			i += utf8_escape(s + i, n - i, &no_end);
		} else if (length >= 2) {
			add_character(&c, s + i, length);
			i += length;
		} else {
			i += add_marks(&c, s + i, n - i);
		}
	}
	add_kept(&c);
	end_hidden(&c);
}

void utf8_clean_name(struct buf *out, const char *name)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean(&clean, name, strlen(name));
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.data[i] < ' ')
			buf_add_str(out, REPLACEMENT);
		else
			buf_add(out, clean.data + i, 1);
	}
}

bool utf8_valid(const void *data, size_t n)
{
	const uint8_t *s = data;
	for (size_t i = 0; i < n;) {
		if (i + 8 <= n && !(eight(s + i) & HIGHS)) {
			i += 8;
			continue;
		}
		size_t length = utf8_sequence(s + i, n - i);
		if (length == 0)
			return false;
		i += length;
	}
	return true;
}

size_t utf8_count(const char *s, size_t n)
{
	size_t count = 0, i = 0;
	for (; i + 8 <= n; i += 8)
		count += eight_starts(s + i);
	for (; i < n; i++)
		count += !is_continuation((uint8_t)s[i]);
	return count;
}

size_t utf8_head(const char *s, size_t n, size_t chars)
{
	size_t i = 0;
	for (; i + 8 <= n && chars >= 8; i += 8)
		chars -= eight_starts(s + i);
	for (; i < n; i++)
		if (!is_continuation((uint8_t)s[i]) && chars-- == 0)
			break;
	return i;
}

size_t utf8_tail(const char *s, size_t n, size_t chars)
{
	size_t i = n;
	for (; i >= 8 && chars >= 8; i -= 8)
		chars -= eight_starts(s + i - 8);
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
