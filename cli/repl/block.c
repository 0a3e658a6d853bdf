#include "cli/repl/block-private.h"

#include <ctype.h>
#include <strings.h>

#define PYTHON_INDENT 4

enum syntax syntax_of(const char *extension)
{
	static const struct {
		const char *extension;
		enum syntax syntax;
	} known[] = { { ".py", SYNTAX_PYTHON },
		      { ".js", SYNTAX_JAVASCRIPT },
		      { ".mjs", SYNTAX_JAVASCRIPT },
		      { ".ts", SYNTAX_JAVASCRIPT },
		      { ".r", SYNTAX_R } };
	for (size_t i = 0; extension && i < ARRAY_LEN(known); i++)
		if (strcasecmp(extension, known[i].extension) == 0)
			return known[i].syntax;
	return SYNTAX_LINES;
}

void block_reset(struct block *b)
{
	*b = (struct block){ .syntax = b->syntax };
}

/* --- for the scanners ---------------------------------------------------------------------------------------------- */

void block_push(struct block *b, char c)
{
	if (b->depth == sizeof(b->open))
		b->broken = true;
	else
		b->open[b->depth++] = c;
}

void block_pop(struct block *b, char c)
{
	static const char pairs[] = "()[]{}";
	const char *at = strchr(pairs, c);
	if (!b->depth || at[-1] != block_top(b))
		b->broken = true;
	else
		b->depth--;
}

bool block_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

bool block_word_in(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (streq(word, *words))
			return true;
	return false;
}

bool block_begins(const char *line, size_t n, const char *word)
{
	size_t length = strlen(word);
	while (n && isspace((unsigned char)*line))
		line++, n--;
	return n >= length && memcmp(line, word, length) == 0 && (n == length || !block_is_word(line[length]));
}

static void see_word(struct block *b, char c)
{
	if (!b->in_word) {
		memcpy(b->former_word, b->word, sizeof(b->word));
		b->word[0] = '\0';
	}
	size_t n = strlen(b->word);
	if (n < BLOCK_WORD_MAX) {
		b->word[n] = c;
		b->word[n + 1] = '\0';
	}
}

void block_see(struct block *b, char c)
{
	bool is_word = block_is_word(c);
	if (!isspace((unsigned char)c)) {
		b->has_code = true;
		if (is_word)
			see_word(b, c);
		b->before_last = b->last;
		b->last = c;
		b->header = false;
	}
	b->in_word = is_word;
}

void block_bracket(struct block *b, char c, const char *const *headers)
{
	bool opens = strchr("([{", c);
	if (opens && b->depth == 0)
		b->header_opens =
			c == '(' && (b->last == '\\' || (block_is_word(b->last) && block_word_in(b->word, headers)) ||
				     (block_is_word(b->last) && streq(b->former_word, "function")));
	if (opens)
		block_push(b, c);
	else
		block_pop(b, c);
	block_see(b, c);
	b->header = !opens && b->depth == 0 && c == ')' && b->header_opens;
}

/* --- lines --------------------------------------------------------------------------------------------------------- */

void block_feed(struct block *b, const char *line, size_t n)
{
	size_t spaces = 0;
	while (spaces < n && isspace((unsigned char)line[spaces]))
		spaces++;
	b->blank = spaces == n;
	b->was_continued = b->continued;
	b->continued = false;
	b->in_word = false;
	b->lines++;
	switch (b->syntax) {
	case SYNTAX_PYTHON:
		block_feed_python(b, line, n);
		break;
	case SYNTAX_JAVASCRIPT:
		block_feed_javascript(b, line, n);
		break;
	case SYNTAX_R:
		block_feed_r(b, line, n);
		break;
	case SYNTAX_LINES:
		b->has_code |= !b->blank;
		break;
	}
	if (!b->blank)
		b->indent = spaces;
}

/* True inside a string, a comment or brackets, which only their own end closes. */
static bool is_nested(const struct block *b)
{
	return b->quote || b->raw[0] || b->comment || b->depth;
}

static bool javascript_expects(const struct block *b)
{
	static const char *const words[] = { "else", "do", "try", "finally", "typeof", "instanceof",
					     "in",   "of", "new", "extends", "await",  NULL };
	bool twice = b->last == b->before_last && (b->last == '+' || b->last == '-');
	if (block_is_word(b->last))
		return block_word_in(b->word, words);
	return b->header || (b->last && strchr(",.+-*/%=&|^?:<>", b->last) && !twice);
}

static bool r_expects(const struct block *b)
{
	static const char *const words[] = { "else", "repeat", "in", NULL };
	if (block_is_word(b->last))
		return block_word_in(b->word, words);
	return b->header || (b->last && strchr("+-*/^=<>|&~,:$@!%", b->last));
}

bool block_is_open(const struct block *b, bool whole)
{
	if (b->broken)
		return false;
	if (is_nested(b) || b->continued)
		return true;
	if (b->blank)
		return false;
	return (b->compound && (!whole || b->deeper)) || (b->syntax == SYNTAX_JAVASCRIPT && javascript_expects(b)) ||
	       (b->syntax == SYNTAX_R && r_expects(b));
}

static bool python_takes(const struct block *b, const char *next, size_t n)
{
	static const char *const more[] = { "else", "elif", "except", "finally" };
	size_t spaces = 0;
	while (spaces < n && isspace((unsigned char)next[spaces]))
		spaces++;
	if (!b->compound)
		return false;
	if (spaces == n || spaces > 0 || next[0] == '#' || b->deeper)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		if (block_begins(next, n, more[i]))
			return true;
	return false;
}

static bool javascript_takes(const struct block *b, const char *next, size_t n)
{
	bool follows =
		block_begins(next, n, "else") || block_begins(next, n, "catch") || block_begins(next, n, "finally");
	return javascript_expects(b) || (follows && b->last == '}');
}

bool block_may_take(const struct block *b)
{
	if (b->broken)
		return false;
	return is_nested(b) || b->continued || b->compound ||
	       (b->syntax == SYNTAX_JAVASCRIPT && (javascript_expects(b) || b->last == '}')) ||
	       (b->syntax == SYNTAX_R && r_expects(b));
}

bool block_takes(const struct block *b, const char *next, size_t n)
{
	if (b->broken || !b->lines)
		return false;
	if (is_nested(b) || b->continued)
		return true;
	switch (b->syntax) {
	case SYNTAX_PYTHON:
		return python_takes(b, next, n);
	case SYNTAX_JAVASCRIPT:
		return javascript_takes(b, next, n);
	case SYNTAX_R:
		return r_expects(b);
	case SYNTAX_LINES:
		break;
	}
	return false;
}

size_t block_indent(const struct block *b)
{
	if (b->syntax != SYNTAX_PYTHON || b->quote || b->blank)
		return 0;
	if (b->deeper)
		return b->indent + PYTHON_INDENT;
	return b->leaves && b->indent >= PYTHON_INDENT ? b->indent - PYTHON_INDENT : b->indent;
}
