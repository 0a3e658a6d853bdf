#include "tests/fuzz/mutate.h"

#include <errno.h>

#include "base/alloc.h"

#define CHANGES_MAX 6
/* One input in this many becomes long, since some costs show only in long inputs. */
#define LONG_ONE_IN 24
#define LONG_MAX (256u << 10)

void seeds_add(struct seeds *s, const void *data, size_t n)
{
	s->v = xrealloc(s->v, (s->n + 1) * sizeof(*s->v));
	s->v[s->n] = (struct buf){ 0 };
	buf_add(&s->v[s->n++], data, n);
}

void seeds_release(struct seeds *s)
{
	for (size_t i = 0; i < s->n; i++)
		buf_release(&s->v[i]);
	free(s->v);
	*s = (struct seeds){ 0 };
}

static void add_word(struct seeds *s, const char *line)
{
	AUTO(buf_release) struct buf word = { 0 };
	const char *p = strchr(line, '"'), *end = strrchr(line, '"');
	for (p = p ? p + 1 : end; p < end; p++) {
		unsigned byte = (uint8_t)*p;
		if (*p == '\\' && p[1] == 'x' && sscanf(p + 2, "%2x", &byte) == 1)
			p += 3;
		else if (*p == '\\')
			byte = (uint8_t) * ++p;
		buf_add(&word, &(uint8_t){ (uint8_t)byte }, 1);
	}
	if (word.len)
		seeds_add(s, word.data, word.len);
}

int seeds_read_words(struct seeds *s, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[1024];
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (line[0] != '#')
			add_word(s, line);
	fclose(f);
	return 0;
}

/* xorshift64* */
uint64_t mutate_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static size_t below(uint64_t *state, size_t n)
{
	return n ? (size_t)((mutate_random(state) >> 11) % n) : 0;
}

/* Replaces `cut` bytes by n bytes. */
static void splice(struct buf *b, size_t at, size_t cut, const void *data, size_t n)
{
	AUTO(buf_release) struct buf old = *b;
	*b = (struct buf){ 0 };
	buf_add(b, old.data, at);
	buf_add(b, data, n);
	buf_add(b, old.data + at + cut, old.len - at - cut);
}

/* A part of another input, or a word. */
static void insert_seed(struct buf *b, const struct seeds *seeds, bool whole, uint64_t *state)
{
	if (!seeds->n)
		return;
	const struct buf *other = &seeds->v[below(state, seeds->n)];
	size_t from = whole ? 0 : below(state, other->len),
	       n = whole ? other->len : below(state, other->len - from + 1);
	size_t at = below(state, b->len + 1), cut = below(state, 2) ? MIN(n, b->len - at) : 0;
	splice(b, at, cut, other->data + from, n);
}

static void insert_number(struct buf *b, uint64_t *state)
{
	static const char *const numbers[] = { "0",
					       "-1",
					       "1",
					       "255",
					       "999",
					       "65536",
					       "2147483648",
					       "4294967295",
					       "9223372036854775807",
					       "1e999",
					       "99999999999999999999" };
	const char *number = numbers[below(state, ARRAY_LEN(numbers))];
	size_t at = below(state, b->len + 1), cut = 0;
	for (size_t tries = 0; tries < 16 && at < b->len && (b->data[at] < '0' || b->data[at] > '9'); tries++)
		at = below(state, b->len);
	while (at + cut < b->len && b->data[at + cut] >= '0' && b->data[at + cut] <= '9')
		cut++;
	splice(b, at, cut, number, strlen(number));
}

static void change(struct buf *b, const struct seeds *inputs, const struct seeds *words, uint64_t *state)
{
	static const uint8_t bytes[] = { 0, 1, 0x7f, 0x80, 0xff, '\n', '\r', '"', '{', '[', '\\', 0x1b, '0', ';' };
	size_t at = below(state, b->len), left = b->len - at, n = below(state, MIN(left, (size_t)64) + 1);
	AUTO(freep) uint8_t *copy = xmalloc(n + 1);
	if (n)
		memcpy(copy, b->data + at, n);
	switch (below(state, 9)) {
	case 0:
		splice(b, at, n, "", 0);
		break;
	case 1:
		splice(b, below(state, b->len + 1), 0, copy, n);
		break;
	case 2:
		if (b->len)
			b->data[at] ^= (uint8_t)(1u << below(state, 8));
		break;
	case 3:
		if (b->len)
			b->data[at] = bytes[below(state, sizeof(bytes))];
		break;
	case 4:
		splice(b, below(state, b->len + 1), 0, &bytes[below(state, sizeof(bytes))], 1);
		break;
	case 5:
		insert_number(b, state);
		break;
	case 6:
		insert_seed(b, inputs, false, state);
		break;
	default:
		insert_seed(b, words, true, state);
	}
}

/* Repeats a short part until the input is long. */
static void lengthen(struct buf *b, uint64_t *state)
{
	AUTO(buf_release) struct buf repeated = { 0 };
	size_t at = below(state, b->len), part = 1 + below(state, 48), wanted = 1 + below(state, LONG_MAX);
	size_t n = MIN(part, b->len - at);
	while (n && repeated.len < wanted)
		buf_add(&repeated, b->data + at, n);
	splice(b, at, 0, repeated.data, repeated.len);
}

void mutate_next(struct buf *out, const struct seeds *inputs, const struct seeds *words, uint64_t *state)
{
	const struct buf *from = &inputs->v[below(state, inputs->n)];
	buf_reset(out);
	buf_add(out, from->data, from->len);
	for (size_t i = below(state, CHANGES_MAX) + 1; i > 0; i--)
		change(out, inputs, words, state);
	if (below(state, LONG_ONE_IN) == 0)
		lengthen(out, state);
}
