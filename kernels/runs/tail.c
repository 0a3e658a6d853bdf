#include "kernels/runs/tail.h"

#include "base/alloc.h"

void tail_release(struct tail *t)
{
	ring_release(&t->bytes);
	free(t->runs);
	*t = (struct tail){ .bytes = { .max = t->bytes.max } };
}

static struct tail_run *oldest(struct tail *t)
{
	return &t->runs[t->first];
}

static struct tail_run *newest(const struct tail *t)
{
	return t->n_runs ? &t->runs[t->first + t->n_runs - 1] : NULL;
}

static void drop_oldest(struct tail *t)
{
	t->first++;
	t->n_runs--;
}

/* Forgets the pieces of the bytes that have left the ring at its old end. */
static void forget(struct tail *t, size_t bytes)
{
	while (t->n_runs && bytes) {
		size_t n = MIN(bytes, (size_t)oldest(t)->n);
		oldest(t)->n -= (uint32_t)n;
		bytes -= n;
		if (!oldest(t)->n)
			drop_oldest(t);
	}
}

static void add_run(struct tail *t, uint8_t tag, size_t n)
{
	if (t->n_runs == TAIL_RUNS_MAX) {
		ring_drop(&t->bytes, oldest(t)->n);
		drop_oldest(t);
	}
	if (t->first + t->n_runs == t->cap) {
		if (t->first > t->cap / 2) {
			memmove(t->runs, t->runs + t->first, t->n_runs * sizeof(*t->runs));
			t->first = 0;
		} else {
			t->cap = t->cap ? 2 * t->cap : 64;
			t->runs = xrealloc(t->runs, t->cap * sizeof(*t->runs));
		}
	}
	t->runs[t->first + t->n_runs++] = (struct tail_run){ .n = (uint32_t)n, .tag = tag };
}

void tail_add(struct tail *t, uint8_t stream, const void *data, size_t n)
{
	if (!n)
		return;
	t->begun = true;
	/* Bytes that leave the ring may be among those that are added, so all added bytes are counted first. Those
	 * that left are subtracted afterwards. */
	struct tail_run *last = newest(t);
	if (last && last->tag == stream)
		last->n += (uint32_t)n;
	else
		add_run(t, stream, n);
	forget(t, ring_add(&t->bytes, data, n));
}

void tail_place(struct tail *t)
{
	if (t->begun)
		add_run(t, TAIL_PLACE, 0);
}

bool tail_at_place(const struct tail *t)
{
	const struct tail_run *last = newest(t);
	return !t->begun || (last && last->tag == TAIL_PLACE);
}

size_t tail_bytes(const struct tail *t, uint8_t stream)
{
	size_t sum = 0;
	for (size_t i = 0; i < t->n_runs; i++)
		sum += t->runs[t->first + i].tag == stream ? t->runs[t->first + i].n : 0;
	return sum;
}

void tail_each(const struct tail *t, void (*fn)(void *ctx, uint8_t tag, const void *data, size_t n), void *ctx)
{
	AUTO(buf_release) struct buf all = { 0 };
	size_t at = 0;
	ring_copy(&t->bytes, SIZE_MAX, &all);
	for (size_t i = 0; i < t->n_runs; i++) {
		const struct tail_run *run = &t->runs[t->first + i];
		fn(ctx, run->tag, run->tag == TAIL_PLACE ? NULL : all.data + at, run->n);
		at += run->n;
	}
}
