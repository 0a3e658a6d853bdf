/* Includes for every fuzz target. A target is one function that takes bytes: fuzz_one(). limits.c calls it and
 * bounds each input. In a campaign (tests/fuzz/run.sh) libFuzzer calls limits.c; in every test run standalone.c
 * does, with any compiler. Targets check more than memory: the promises of a parser's header hold for every input. */
#ifndef HUSK_TESTS_FUZZ_H
#define HUSK_TESTS_FUZZ_H

#include <jansson.h>

#include "base/defs.h"
#include "base/utf8.h"

/* Defined by the target. Returns 0. */
int fuzz_one(const uint8_t *data, size_t n);
/* limits.c: fuzz_one() with a limit on its CPU time. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Unlike assert(), it works in every build and prints its location. */
#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

/* A stream arrives in pieces of any size: the first byte of an input says how it is cut, the rest is the stream. */
struct pieces {
	const uint8_t *at;
	size_t left;
	uint32_t state; /* 0 = all at once */
};

static inline struct pieces pieces_of(const uint8_t *data, size_t n)
{
	return (struct pieces){ .at = n ? data + 1 : data, .left = n ? n - 1 : 0, .state = n ? data[0] : 0 };
}

/* False at the end. */
static inline bool pieces_next(struct pieces *p, const uint8_t **ret, size_t *ret_n)
{
	size_t size = p->left;
	if (!p->left)
		return false;
	if (p->state) {
		p->state = p->state * 1103515245u + 12345u;
		size = MIN(p->left, 1 + (p->state >> 16) % 37);
	}
	*ret = p->at;
	*ret_n = size;
	p->at += size;
	p->left -= size;
	return true;
}

/* A message of ours that can be sent: it has a text, and the text is one line of valid UTF-8. Takes the reference. */
static inline void check_sendable(json_t *message)
{
	CHECK(message);
	char *text = json_dumps(message, JSON_COMPACT);
	CHECK(text && utf8_valid(text, strlen(text)) && !strchr(text, '\n'));
	free(text);
	json_decref(message);
}

#endif
