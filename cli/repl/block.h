/* Decides whether the lines typed so far are a whole cell or continue. It looks at the text alone, line by line,
 * for languages whose syntax it knows. It may be wrong about incorrect code, which the interpreter rejects. */
#ifndef HUSK_CLI_REPL_BLOCK_H
#define HUSK_CLI_REPL_BLOCK_H

#include "base/defs.h"

enum syntax {
	SYNTAX_LINES, /* unknown syntax: the text alone says that each line is a cell */
	SYNTAX_PYTHON,
	SYNTAX_JAVASCRIPT,
	SYNTAX_R,
};
/* By the ending of its files' names. */
enum syntax syntax_of(const char *extension);

#define BLOCK_DEPTH_MAX 512
#define BLOCK_WORD_MAX 15

/* `{ .syntax = … }` is a valid empty one. Its fields are for block*.c only. */
struct block {
	enum syntax syntax;
	size_t lines;
	char open[BLOCK_DEPTH_MAX]; /* brackets, and what JavaScript's templates nest */
	size_t depth;
	char quote;	/* quote of a string that continues on the next line; 0 = none */
	bool triple;	/* Python: it ends with three */
	char raw[40];	/* R: the end of a raw string that continues */
	bool comment;	/* JavaScript: a comment that continues */
	bool continued; /* the line ended with a backslash */
	bool was_continued;
	bool has_code; /* more than comments */
	bool verbatim; /* IPython's %%: what follows is not Python */
	bool broken;   /* brackets do not match: do not wait for more lines */
	bool compound; /* Python: a statement with a body, which a blank line ends */
	bool blank;    /* the last line */
	size_t indent; /* of the last line that was not blank */
	bool deeper;   /* Python: the next line begins a body */
	bool leaves;   /* Python: the last line leaves its body (return, pass, …) */
	/* The last code before the end of the line, comments aside. */
	char last, before_last;
	char word[BLOCK_WORD_MAX + 1], former_word[BLOCK_WORD_MAX + 1];
	bool in_word;
	bool header;	   /* it is the ")" of an if, a for, a function */
	bool header_opens; /* the "(" of depth 1 belongs to one */
};

/* A line without its end. */
void block_feed(struct block *b, const char *line, size_t n);
/* At a prompt: true if the cell needs more lines. A body ends with a blank line, unless it was pasted as a whole. */
bool block_is_open(const struct block *b, bool whole);
/* In a pipe, where a blank line ends nothing: whether a next line could belong to the cell, and whether this line
 * does. */
bool block_may_take(const struct block *b);
bool block_takes(const struct block *b, const char *next, size_t n);
/* At a prompt: how many spaces the next line is likely to begin with. */
size_t block_indent(const struct block *b);
/* Forgets all but the syntax. */
void block_reset(struct block *b);

#endif
