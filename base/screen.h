/* What a terminal shows in the end of text that moves its cursor: carriage returns and backspaces overwrite, and the escape
 * sequences of progress bars (up, down, left, right, column, erase) do what they do there. So a bar of a thousand steps is one
 * line. Every code point takes one column. Only the last SCREEN_ROWS rows can be reached again, and a line of more than SCREEN_WIDTH
 * columns takes several of them.
 *
 * Time, memory and output are linear in the input; what cursor moves add to it is bounded by the macros below. */
#ifndef HUSK_BASE_SCREEN_H
#define HUSK_BASE_SCREEN_H

#include "base/buf.h"

#define SCREEN_ROWS 64
/* How far to the right a sequence moves the cursor at most. */
#define SCREEN_COLUMNS 1000
#define SCREEN_WIDTH 16384
/* Of n bytes: how many blanks cursor moves may leave before text, and how many cells erasures may visit. */
#define SCREEN_BLANKS(n) (MIN(4 * (size_t)(n), (size_t)1 << 20) + (64u << 10))
#define SCREEN_ERASURES(n) (8 * (size_t)(n) + (64u << 10))

/* True if the text moves the cursor: otherwise it is shown as it is. */
bool screen_moves(const void *data, size_t n);
/* Appends the lines that are there in the end: no carriage return, backspace or cursor sequence is left. Bytes that are no UTF-8
 * are kept. Returns how many steps that took: bytes read, cells written and visited. */
size_t screen_settle(struct buf *out, const void *data, size_t n);
/* The same, cleaned (utf8_clean()): what a reader gets to see. */
void screen_text(struct buf *out, const void *data, size_t n);

#endif
