#include "kernels/runs/capture.h"

#include "base/alloc.h"

#define RING_FIRST_CAP 4096u

void ring_release(struct ring *r)
{
	free(r->data);
	*r = (struct ring){ .max = r->max };
}

/* Memory grows with the output: most runs never fill their ring. Only a ring that never wrapped grows, so start is
 * 0. */
static void ring_grow(struct ring *r, size_t need)
{
	size_t cap = r->cap ? r->cap : MIN(RING_FIRST_CAP, r->max);
	while (cap < need && cap < r->max)
		cap = MIN(cap * 2, r->max);
	if (cap == r->cap)
		return;
	r->data = xrealloc(r->data, cap);
	r->cap = cap;
}

size_t ring_add(struct ring *r, const void *data, size_t n)
{
	const uint8_t *from = data;
	size_t lost = 0;
	if (n > r->max) {
		lost = n - r->max;
		from += lost;
		n = r->max;
	}
	if (!n)
		return lost;
	if (r->len + n > r->cap && r->cap < r->max)
		ring_grow(r, r->len + n);
	if (r->len + n > r->cap) {
		size_t out = r->len + n - r->cap;
		r->start = (r->start + out) % r->cap;
		r->len -= out;
		lost += out;
	}
	size_t at = (r->start + r->len) % r->cap;
	size_t first = MIN(n, r->cap - at);
	memcpy(r->data + at, from, first);
	memcpy(r->data, from + first, n - first);
	r->len += n;
	return lost;
}

void ring_copy(const struct ring *r, size_t n, struct buf *out)
{
	n = MIN(n, r->len);
	if (!n)
		return;
	size_t at = (r->start + r->len - n) % r->cap;
	size_t first = MIN(n, r->cap - at);
	(void)buf_add(out, r->data + at, first);
	(void)buf_add(out, r->data, n - first);
}

void ring_drop(struct ring *r, size_t n)
{
	if (!n)
		return;
	r->start = (r->start + n) % r->cap;
	r->len -= n;
}

void capture_init(struct capture *c, size_t limit)
{
	*c = (struct capture){ .limit = limit, .head_max = limit - limit / 2 };
}

void capture_limit(struct capture *c, size_t limit)
{
	if (limit < c->limit)
		capture_init(c, limit);
}

size_t capture_add(struct capture *c, size_t n)
{
	size_t head = MIN(n, c->head_max - c->head_len);
	c->head_len += head;
	c->total += n;
	return head;
}

void capture_clear(struct capture *c)
{
	c->head_len = 0;
	c->total = 0;
}
