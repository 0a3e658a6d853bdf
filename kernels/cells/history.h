/* The cells whose effects are in an interpreter. */
#ifndef HUSK_KERNELS_CELLS_HISTORY_H
#define HUSK_KERNELS_CELLS_HISTORY_H

#include <string.h>

#include "base/defs.h"

/* Older ones are forgotten. */
#define HISTORY_MAX 1024

/* Numbers of runs, in order. */
struct history {
	size_t n;
	uint32_t runs[HISTORY_MAX];
};

/* The last run; 0 = none. */
static inline uint32_t history_last(const struct history *h)
{
	return h->n ? h->runs[h->n - 1] : 0;
}

static inline void history_add(struct history *h, uint32_t run)
{
	if (h->n == HISTORY_MAX) {
		memmove(h->runs, h->runs + 1, sizeof(h->runs[0]) * (HISTORY_MAX - 1));
		h->n--;
	}
	h->runs[h->n++] = run;
}

static inline bool history_has(const struct history *h, uint32_t run)
{
	for (size_t i = h->n; i > 0 && h->runs[i - 1] >= run; i--)
		if (h->runs[i - 1] == run)
			return true;
	return false;
}

/* True if `later` continues `h`, as far as both are remembered. */
static inline bool history_continues(const struct history *h, const struct history *later)
{
	for (size_t i = 0; i < h->n; i++)
		if ((!later->n || h->runs[i] >= later->runs[0]) && !history_has(later, h->runs[i]))
			return false;
	return true;
}

#endif
