/* A growable buffer with a hard maximum. `{ .max = N }` is a valid empty buffer. A max of 0 means no limit and is
 * only for sizes that we choose ourselves. Data is not NUL-terminated; buf_str() terminates it. */
#ifndef HUSK_BASE_BUF_H
#define HUSK_BASE_BUF_H

#include "base/defs.h"

struct buf {
	uint8_t *data;
	size_t len;
	size_t cap;
	size_t max;
};

void buf_release(struct buf *b);
/* The same, for secrets: the memory is overwritten first. Reserve enough, since growing leaves copies behind. */
void buf_wipe(struct buf *b);
/* Empties but keeps the memory. */
void buf_reset(struct buf *b);
/* Appends all of the data or nothing: -ENOBUFS if the buffer would exceed max. */
int buf_add(struct buf *b, const void *data, size_t n);
int buf_add_str(struct buf *b, const char *s);
int buf_add_int(struct buf *b, int64_t value);
/* The arguments must not point into the buffer. */
int buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Makes room for n more bytes and returns where they go (the caller raises len), or NULL if they would exceed max. */
uint8_t *buf_reserve(struct buf *b, size_t n);
/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);
/* The content, NUL-terminated; valid until the next change. */
const char *buf_str(struct buf *b);
/* The NUL-terminated content as a heap string that the caller owns; the buffer is empty afterwards. */
char *buf_steal_str(struct buf *b);

#endif
