/* Makes new inputs from old ones for test runs. They are not guided by coverage, so any compiler will do. */
#ifndef HUSK_TESTS_FUZZ_MUTATE_H
#define HUSK_TESTS_FUZZ_MUTATE_H

#include "base/buf.h"

/* Sources of mutations: the inputs of a corpus, and words of a dictionary. */
struct seeds {
	struct buf *v;
	size_t n;
};

void seeds_add(struct seeds *s, const void *data, size_t n);
void seeds_release(struct seeds *s);
/* Adds the words of a file in libFuzzer's format: one "…" per line, with \xHH, \\ and \". Returns 0 or -errno. */
int seeds_read_words(struct seeds *s, const char *path);

/* The next random number; the state is the seed at first, and must not be 0. */
uint64_t mutate_random(uint64_t *state);
/* Replaces the content of `out` by a new input. There must be an input. */
void mutate_next(struct buf *out, const struct seeds *inputs, const struct seeds *words, uint64_t *state);

#endif
