/* Functions that the scanners of all languages share. */
#ifndef HUSK_CLI_REPL_BLOCK_PRIVATE_H
#define HUSK_CLI_REPL_BLOCK_PRIVATE_H

#include "cli/repl/block.h"

void block_push(struct block *b, char c);
/* Removes the bracket that c closes. */
void block_pop(struct block *b, char c);
static inline char block_top(const struct block *b)
{
	return b->depth ? b->open[b->depth - 1] : '\0';
}
/* Records a character of code for scanners that look back. Spaces separate words. */
void block_see(struct block *b, char c);
bool block_is_word(char c);
bool block_word_in(const char *word, const char *const *words);
/* True if the first word of the line is this one. */
bool block_begins(const char *line, size_t n, const char *word);
/* Takes one of ( [ { } ] ). The header of a statement may end with it. */
void block_bracket(struct block *b, char c, const char *const *headers);

void block_feed_python(struct block *b, const char *line, size_t n);
void block_feed_javascript(struct block *b, const char *line, size_t n);
void block_feed_r(struct block *b, const char *line, size_t n);

#endif
