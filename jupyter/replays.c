#include "jupyter/replays.h"

#include "base/alloc.h"

/* Half of the slots stay free, so that a search is short. */
#define SLOTS ((size_t)2 * REPLAYS_KEPT)

/* A part of a signature, which nobody can choose without the key. */
struct digest {
	uint64_t words[2];
};

struct table {
	struct digest *slots; /* all zero = free */
	size_t n;
};

struct replays {
	struct table tables[2]; /* the first table is the younger one */
};

struct replays *replays_new(void)
{
	struct replays *r = new0(struct replays);
	for (size_t i = 0; i < ARRAY_LEN(r->tables); i++)
		r->tables[i].slots = xcalloc(SLOTS, sizeof(struct digest));
	return r;
}

struct replays *replays_free(struct replays *r)
{
	for (size_t i = 0; r && i < ARRAY_LEN(r->tables); i++)
		free(r->tables[i].slots);
	free(r);
	return NULL;
}

static bool is_same(const struct digest *a, const struct digest *b)
{
	return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

/* The digest's slot, or the free slot where it would be. */
static struct digest *find(const struct table *t, const struct digest *d)
{
	static const struct digest none;
	size_t at = (size_t)d->words[0] % SLOTS;
	while (!is_same(&t->slots[at], &none) && !is_same(&t->slots[at], d))
		at = (at + 1) % SLOTS;
	return &t->slots[at];
}

bool replays_is_first(struct replays *r, const struct message *m)
{
	struct digest d;
	memcpy(&d, m->signature, sizeof(d));
	d.words[1] |= 1; /* zero marks a free slot */
	struct digest *slot = find(&r->tables[0], &d);
	if (is_same(slot, &d) || is_same(find(&r->tables[1], &d), &d))
		return false;
	*slot = d;
	if (++r->tables[0].n == REPLAYS_KEPT) {
		struct table old = r->tables[1];
		memset(old.slots, 0, SLOTS * sizeof(struct digest));
		old.n = 0;
		r->tables[1] = r->tables[0];
		r->tables[0] = old;
	}
	return true;
}
