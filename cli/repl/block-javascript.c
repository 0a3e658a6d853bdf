#include "cli/repl/block-private.h"

static const char *const headers[] = { "if", "for", "while", "with", "switch", "catch", "function", NULL };

/* The index after the string, or n if a backslash continues the string on the next line. A string that is not closed
 * ends with its line. */
static size_t skip_string(struct block *b, const char *line, size_t at, size_t n)
{
	for (; at < n && line[at] != b->quote; at++) {
		if (line[at] == '\\' && ++at == n)
			return n;
	}
	block_see(b, b->quote);
	b->quote = '\0';
	return at + 1;
}

/* Skips to the end of the template, or to ${, which begins nested code. */
static size_t skip_template(struct block *b, const char *line, size_t at, size_t n)
{
	for (; at < n; at++) {
		if (line[at] == '\\') {
			at++;
		} else if (line[at] == '`') {
			b->depth--;
			block_see(b, '`');
			return at + 1;
		} else if (line[at] == '$' && at + 1 < n && line[at + 1] == '{') {
			block_push(b, '$');
			return at + 2;
		}
	}
	return n;
}

static size_t skip_comment(struct block *b, const char *line, size_t at, size_t n)
{
	for (; at + 1 < n; at++) {
		if (line[at] == '*' && line[at + 1] == '/') {
			b->comment = false;
			return at + 2;
		}
	}
	return n;
}

/* After a value, "/" divides and does not begin a regular expression. */
static bool may_begin_pattern(const struct block *b)
{
	static const char *const words[] = { "return", "typeof", "case", "in",	 "of", "delete",
					     "void",   "await",	 "do",	 "else", NULL };
	if (block_is_word(b->last))
		return block_word_in(b->word, words);
	return !b->last || !strchr(")]}'\"`$", b->last);
}

/* The index after the regular expression at `at`, or 0 if there is none. */
static size_t skip_pattern(const char *line, size_t at, size_t n)
{
	bool in_class = false;
	for (at++; at < n; at++) {
		if (line[at] == '\\')
			at++;
		else if (line[at] == '[')
			in_class = true;
		else if (line[at] == ']')
			in_class = false;
		else if (line[at] == '/' && !in_class)
			return at + 1;
	}
	return 0;
}

static size_t scan_slash(struct block *b, const char *line, size_t at, size_t n)
{
	char next = at + 1 < n ? line[at + 1] : '\0';
	if (next == '/')
		return n;
	if (next == '*') {
		b->comment = true;
		return skip_comment(b, line, at + 2, n);
	}
	size_t end = may_begin_pattern(b) ? skip_pattern(line, at, n) : 0;
	block_see(b, end ? ')' : '/'); /* a pattern is a value */
	return end ? end : at + 1;
}

static size_t scan_code(struct block *b, const char *line, size_t at, size_t n)
{
	char c = line[at];
	if (c == '/')
		return scan_slash(b, line, at, n);
	if (c == '"' || c == '\'') {
		b->quote = c;
		b->has_code = true;
		return skip_string(b, line, at + 1, n);
	}
	if (c == '`') {
		block_push(b, '`');
		b->has_code = true;
		return at + 1;
	}
	if (c == '}' && block_top(b) == '$')
		b->depth--;
	else if (strchr("()[]{}", c))
		block_bracket(b, c, headers);
	else
		block_see(b, c);
	return at + 1;
}

void block_feed_javascript(struct block *b, const char *line, size_t n)
{
	for (size_t at = 0; at < n && !b->broken;) {
		if (b->comment)
			at = skip_comment(b, line, at, n);
		else if (b->quote)
			at = skip_string(b, line, at, n);
		else if (block_top(b) == '`')
			at = skip_template(b, line, at, n);
		else
			at = scan_code(b, line, at, n);
	}
}
