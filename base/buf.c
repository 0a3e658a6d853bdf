#include "base/buf.h"

#include <errno.h>

#include "base/alloc.h"

void buf_release(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ .max = b->max };
}

void buf_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_release(b);
}

void buf_reset(struct buf *b)
{
	b->len = 0;
}

/* Always one spare byte, so that buf_str() cannot fail. */
static void grow(struct buf *b, size_t need)
{
	if (need + 1 <= b->cap)
		return;
	size_t cap = b->cap ? b->cap : 256;
	while (cap < need + 1)
		cap += cap / 2 + 64;
	b->data = xrealloc(b->data, cap);
	b->cap = cap;
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
	if (n > SIZE_MAX / 4 - b->len || (b->max && b->len + n > b->max))
		return NULL;
	grow(b, b->len + n);
	return b->data + b->len;
}

int buf_add(struct buf *b, const void *data, size_t n)
{
	uint8_t *at = buf_reserve(b, n);
	if (!at)
		return -ENOBUFS;
	if (n)
		memcpy(at, data, n);
	b->len += n;
	return 0;
}

int buf_add_str(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_add_int(struct buf *b, int64_t value)
{
	char digits[24], *end = digits + sizeof(digits), *at = end;
	uint64_t n = value < 0 ? -(uint64_t)value : (uint64_t)value;
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	if (value < 0)
		*--at = '-';
	return buf_add(b, at, (size_t)(end - at));
}

/* Most texts fit into the room that is left, so they are formatted in place. */
int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	grow(b, b->len);
	size_t room = b->cap - b->len;
	va_start(ap, fmt);
	int n = vsnprintf((char *)b->data + b->len, room, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	uint8_t *at = buf_reserve(b, (size_t)n);
	if (!at)
		return -ENOBUFS;
	if ((size_t)n >= room) {
		va_start(ap, fmt);
		vsnprintf((char *)at, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	b->len += (size_t)n;
	return 0;
}

void buf_consume(struct buf *b, size_t n)
{
	if (n >= b->len) {
		b->len = 0;
		return;
	}
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
}

const char *buf_str(struct buf *b)
{
	grow(b, b->len);
	b->data[b->len] = '\0';
	return (const char *)b->data;
}

char *buf_steal_str(struct buf *b)
{
	(void)buf_str(b);
	char *s = (char *)take_ptr(b->data);
	*b = (struct buf){ .max = b->max };
	return s;
}
