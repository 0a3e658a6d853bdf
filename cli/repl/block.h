/* Is what was typed so far a cell, or does it go on? Told from the text alone, line by line, for the languages whose shape is known;
 * it need not be right about wrong code, which the interpreter judges. */
#ifndef HUSK_CLI_REPL_BLOCK_H
#define HUSK_CLI_REPL_BLOCK_H

#include "base/defs.h"

enum syntax {
	SYNTAX_LINES, /* nothing is known: each line is a cell, as far as its text tells */
	SYNTAX_PYTHON,
	SYNTAX_JAVASCRIPT,
	SYNTAX_R,
};
/* By the ending of its files' names. */
enum syntax syntax_of(const char *extension);

#define BLOCK_DEPTH_MAX 512
#define BLOCK_WORD_MAX 15

/* `{ .syntax = … }` is a valid empty one. What it holds is for block*.c only. */
struct block {
	enum syntax syntax;
	size_t lines;
	char open[BLOCK_DEPTH_MAX]; /* brackets, and what JavaScript's templates nest */
	size_t depth;
	char quote;	/* of the string that goes on; 0 = none */
	bool triple;	/* Python: it ends with three */
	char raw[40];	/* R: what ends the raw string that goes on */
	bool comment;	/* JavaScript: one that goes on */
	bool continued; /* the line ended with a backslash */
	bool was_continued;
	bool has_code; /* more than comments */
	bool verbatim; /* IPython's %%: what follows is no Python */
	bool broken;   /* brackets that do not match: no more waiting */
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
/* At a prompt: whether more has to come. A body does not end before a blank line, unless it came as a whole. */
bool block_is_open(const struct block *b, bool whole);
/* In a pipe, where a blank line ends nothing: whether a next line could belong to what came so far, and whether this one does. */
bool block_may_take(const struct block *b);
bool block_takes(const struct block *b, const char *next, size_t n);
/* At a prompt: how many spaces the next line is likely to begin with. */
size_t block_indent(const struct block *b);
/* Forgets all but the syntax. */
void block_reset(struct block *b);

#endif
