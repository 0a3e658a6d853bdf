/* Plays text that moves the cursor and returns what a terminal shows in the end. Carriage returns and backspaces
 * overwrite, and the escape sequences of progress bars (up, down, left, right, column, erase) take effect. A bar of a
 * thousand steps becomes one line. Every code point takes one column. Only the last SCREEN_ROWS rows can be reached
 * again, and a line of more than SCREEN_WIDTH columns takes several rows.
 *
 * Time, memory and output are linear in the input. The macros below bound what cursor moves add. */
#ifndef HUSK_BASE_SCREEN_H
#define HUSK_BASE_SCREEN_H

#include "base/buf.h"

#define SCREEN_ROWS 64
/* How far to the right a sequence can move the cursor. */
#define SCREEN_COLUMNS 1000
#define SCREEN_WIDTH 16384
/* For n bytes: how many blanks cursor moves may leave before text, and how many cells erasures may visit. */
#define SCREEN_BLANKS(n) (MIN(4 * (size_t)(n), (size_t)1 << 20) + (64u << 10))
#define SCREEN_ERASURES(n) (8 * (size_t)(n) + (64u << 10))

/* True if the text moves the cursor; otherwise it can be shown unchanged. */
bool screen_moves(const void *data, size_t n);
/* Appends the final lines, without carriage returns, backspaces and cursor sequences. Bytes that are not UTF-8 are
 * kept. Returns the number of steps: bytes read, cells written and visited. */
size_t screen_settle(struct buf *out, const void *data, size_t n);
/* The same, cleaned by utf8_clean() for a reader. */
void screen_text(struct buf *out, const void *data, size_t n);

#endif
