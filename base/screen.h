/* What a terminal shows in the end of text that moves its cursor: carriage returns and backspaces overwrite, and the escape
 * sequences of progress bars (up, down, left, right, column, erase) do what they do there. So a bar of a thousand steps is one
 * line. Every code point takes one column. Only the last SCREEN_ROWS lines can be reached again. */
#ifndef HUSK_BASE_SCREEN_H
#define HUSK_BASE_SCREEN_H

#include "base/buf.h"

#define SCREEN_ROWS 64
/* How far to the right a sequence moves the cursor at most. */
#define SCREEN_COLUMNS 1000

/* True if the text moves the cursor: otherwise it is shown as it is. */
bool screen_moves(const void *data, size_t n);
/* Appends the lines that are there in the end: no carriage return, backspace or cursor sequence is left. Bytes that are no UTF-8
 * are kept. */
void screen_settle(struct buf *out, const void *data, size_t n);
/* The same, cleaned (utf8_clean()): what a reader gets to see. */
void screen_text(struct buf *out, const void *data, size_t n);

#endif
