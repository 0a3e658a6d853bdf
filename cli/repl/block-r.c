#include "cli/repl/block-private.h"

static const char *const headers[] = { "if", "for", "while", "function", NULL };

static size_t skip_string(struct block *b, const char *line, size_t at, size_t n)
{
	for (; at < n && line[at] != b->quote; at++)
		if (line[at] == '\\')
			at++;
	if (at >= n)
		return n;
	block_see(b, b->quote);
	b->quote = '\0';
	return at + 1;
}

static size_t skip_raw(struct block *b, const char *line, size_t at, size_t n)
{
	size_t length = strlen(b->raw);
	const char *end = at < n ? memmem(line + at, n - at, b->raw, length) : NULL;
	if (!end)
		return n;
	b->raw[0] = '\0';
	block_see(b, '"');
	return (size_t)(end - line) + length;
}

/* Begins a raw string such as r"--(…)--". Returns the index of its text, or 0 if this is not a raw string. */
static size_t begin_raw(struct block *b, const char *line, size_t at, size_t n)
{
	static const char open[] = "([{", close[] = ")]}";
	char quote = at + 1 < n ? line[at + 1] : '\0';
	if ((line[at] != 'r' && line[at] != 'R') || b->in_word || (quote != '"' && quote != '\''))
		return 0;
	size_t dashes = 0;
	while (at + 2 + dashes < n && line[at + 2 + dashes] == '-')
		dashes++;
	size_t begin = at + 2 + dashes;
	const char *which = begin < n ? strchr(open, line[begin]) : NULL;
	if (!which || dashes + 3 > sizeof(b->raw))
		return 0;
	b->raw[0] = close[which - open];
	memset(b->raw + 1, '-', dashes);
	b->raw[dashes + 1] = quote;
	b->raw[dashes + 2] = '\0';
	return begin + 1;
}

static size_t scan_code(struct block *b, const char *line, size_t at, size_t n)
{
	char c = line[at];
	size_t raw = begin_raw(b, line, at, n);
	if (raw)
		return raw;
	if (c == '#')
		return n;
	if (c == '"' || c == '\'' || c == '`') {
		b->quote = c;
		b->has_code = true;
		return at + 1;
	}
	/* Operators such as %in%: their content is not code. */
	const char *end = c == '%' ? memchr(line + at + 1, '%', n - at - 1) : NULL;
	if (end) {
		block_see(b, '%');
		return (size_t)(end - line) + 1;
	}
	if (strchr("()[]{}", c))
		block_bracket(b, c, headers);
	else
		block_see(b, c);
	return at + 1;
}

void block_feed_r(struct block *b, const char *line, size_t n)
{
	for (size_t at = 0; at < n && !b->broken;) {
		if (b->raw[0])
			at = skip_raw(b, line, at, n);
		else if (b->quote)
			at = skip_string(b, line, at, n);
		else
			at = scan_code(b, line, at, n);
	}
}
