/* Decides whether the lines typed so far are a whole cell or need more lines. It reads only the text, line by line,
 * for languages whose syntax it knows. It may be wrong about incorrect code, which the interpreter rejects. */
#ifndef HUSK_CLI_REPL_BLOCK_H
#define HUSK_CLI_REPL_BLOCK_H

#include "base/defs.h"

enum syntax {
	SYNTAX_LINES, /* unknown syntax: every line may end the cell, so the REPL queries the interpreter */
	SYNTAX_PYTHON,
	SYNTAX_JAVASCRIPT,
	SYNTAX_R,
};
/* The syntax of a language, by the ending of its files' names. */
enum syntax syntax_of(const char *extension);

#define BLOCK_DEPTH_MAX 512
#define BLOCK_WORD_MAX 15

/* `{ .syntax = … }` is a valid empty block. Only block*.c use the fields. */
struct block {
	enum syntax syntax;
	size_t lines;
	char open[BLOCK_DEPTH_MAX]; /* brackets, and JavaScript's templates and the code nested in them */
	size_t depth;
	char quote;	/* quote of a string that continues on the next line; 0 = none */
	bool triple;	/* Python: the string ends with three quotes */
	char raw[40];	/* R: the end of a raw string that continues */
	bool comment;	/* JavaScript: a comment that continues */
	bool continued; /* the line ended with a backslash */
	bool was_continued;
	bool has_code; /* more than comments */
	bool verbatim; /* IPython's %%: what follows is not Python */
	bool broken;   /* brackets do not match: do not wait for more lines */
	bool compound; /* Python: a statement with a body, which a blank line ends */
	bool blank;    /* the last line is blank */
	size_t indent; /* indentation of the last line that was not blank */
	bool deeper;   /* Python: the next line begins a body */
	bool leaves;   /* Python: the last line leaves its body (return, pass, …) */
	/* The last characters and words of code, without comments. */
	char last, before_last;
	char word[BLOCK_WORD_MAX + 1], former_word[BLOCK_WORD_MAX + 1];
	bool in_word;
	bool header;	   /* last is the ")" of an if, a for, a function */
	bool header_opens; /* the outermost "(" belongs to such a header */
};

/* Adds a line, without its line end. */
void block_feed(struct block *b, const char *line, size_t n);
/* At a prompt: true if the cell needs more lines. A body ends with a blank line, unless the cell was pasted (whole). */
bool block_is_open(const struct block *b, bool whole);
/* In a pipe, where a blank line does not end a cell: whether another line could belong to the cell, and whether the
 * line `next` does. */
bool block_may_take(const struct block *b);
bool block_takes(const struct block *b, const char *next, size_t n);
/* At a prompt: how many spaces the next line is likely to begin with. */
size_t block_indent(const struct block *b);
/* Forgets all but the syntax. */
void block_reset(struct block *b);

#endif
