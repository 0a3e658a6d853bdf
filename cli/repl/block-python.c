#include "cli/repl/block-private.h"

#include <ctype.h>

static const char *const no_headers[] = { NULL };

/* The index after the end of the string that contains `at`, or n if it does not end on this line. */
static size_t skip_string(struct block *b, const char *line, size_t at, size_t n)
{
	size_t ends = b->triple ? 3 : 1;
	for (; at < n; at++) {
		if (line[at] == '\\') {
			b->continued = at + 1 == n;
			at++;
			continue;
		}
		size_t same = 0;
		while (same < ends && at + same < n && line[at + same] == b->quote)
			same++;
		if (same == ends) {
			block_see(b, b->quote);
			b->quote = '\0';
			return at + ends;
		}
	}
	/* A short string ends with its line, even if it is not closed. */
	if (!b->triple && !b->continued)
		b->quote = '\0';
	return n;
}

static void begin_statement(struct block *b, const char *line, size_t n)
{
	static const char *const with_body[] = { "if", "for", "while", "def", "class", "with", "try", "async" };
	static const char *const leaving[] = { "return", "pass", "break", "continue", "raise" };
	size_t at = 0;
	while (at < n && isspace((unsigned char)line[at]))
		at++;
	if (b->lines == 1)
		b->verbatim = b->compound = at + 1 < n && line[at] == '%' && line[at + 1] == '%';
	b->deeper = at < n && line[at] == '@'; /* the decorated function or class follows */
	b->compound |= b->deeper;
	for (size_t i = 0; i < ARRAY_LEN(with_body) && b->lines == 1; i++)
		b->compound |= block_begins(line, n, with_body[i]);
	b->leaves = false;
	for (size_t i = 0; i < ARRAY_LEN(leaving); i++)
		b->leaves |= block_begins(line, n, leaving[i]);
}

/* True for commands of IPython, which are not Python code. */
static bool is_magic(const struct block *b, const char *line, size_t n)
{
	size_t at = 0;
	while (at < n && isspace((unsigned char)line[at]))
		at++;
	return at < n && (line[at] == '!' || line[at] == '%') && !b->depth;
}

static void scan(struct block *b, const char *line, size_t n)
{
	size_t at = b->quote ? skip_string(b, line, 0, n) : 0;
	for (; at < n && line[at] != '#'; at++) {
		char c = line[at];
		if (c == '"' || c == '\'') {
			b->quote = c;
			b->has_code = true;
			b->triple = at + 2 < n && line[at + 1] == c && line[at + 2] == c;
			at = skip_string(b, line, at + (b->triple ? 3 : 1), n) - 1;
		} else if (strchr("()[]{}", c)) {
			block_bracket(b, c, no_headers);
		} else if (c == '\\' && at + 1 == n) {
			b->continued = true;
		} else {
			block_see(b, c);
		}
	}
}

void block_feed_python(struct block *b, const char *line, size_t n)
{
	bool goes_on = b->quote || b->depth;
	if (b->verbatim || (b->blank && !goes_on))
		return;
	if (!goes_on && !b->was_continued) {
		b->last = '\0';
		begin_statement(b, line, n);
		if (is_magic(b, line, n)) {
			b->has_code = true;
			return;
		}
	}
	scan(b, line, n);
	if (!b->quote && !b->depth && !b->continued && b->last == ':') {
		b->compound = true;
		b->deeper = true;
	}
}
