/* Copies what the manager says about checkpoints. */
#include "base/alloc.h"
#include "libhusk/take.h"

static const char *const *texts(struct pool *p, const struct strv *from)
{
	const char **v = pool_alloc(p, from->n, sizeof(*v));
	for (size_t i = 0; i < from->n; i++)
		v[i] = pool_text(p, from->v[i]);
	return v;
}

static const uint64_t *numbers(struct pool *p, const uint64_t *from, size_t n)
{
	uint64_t *v = pool_alloc(p, n, sizeof(*v));
	for (size_t i = 0; i < n; i++)
		v[i] = from[i];
	return v;
}

static const struct husk_checkpoint *take_checkpoint(struct pool *p, const struct checkpoint_info *from)
{
	if (!from)
		return NULL;
	struct husk_checkpoint *c = pool_new(p, struct husk_checkpoint);
	c->name = pool_text(p, from->name);
	c->run = from->run;
	c->age_ms = from->age_ms;
	c->bytes = from->bytes;
	c->lost = texts(p, &from->lost);
	c->n_lost = from->lost.n;
	c->state = pool_text(p, from->state);
	c->runs = numbers(p, from->runs, from->n_runs);
	c->n_runs = from->n_runs;
	return c;
}

const struct husk_checkpoint *const *take_checkpoint_list(struct pool *p, const struct checkpoint_info *v, size_t n)
{
	const struct husk_checkpoint **list = pool_alloc(p, n, sizeof(*list));
	for (size_t i = 0; i < n; i++)
		list[i] = take_checkpoint(p, &v[i]);
	return list;
}

const struct husk_restored *take_restored(struct pool *p, const struct restored *from)
{
	if (!from)
		return NULL;
	struct husk_restored *r = pool_new(p, struct husk_restored);
	r->name = pool_text(p, from->name);
	r->run = from->run;
	r->missing = numbers(p, from->missing, from->n_missing);
	r->n_missing = from->n_missing;
	r->lost = texts(p, &from->lost);
	r->n_lost = from->lost.n;
	r->files = texts(p, &from->files);
	r->n_files = from->files.n;
	r->more_files = from->more_files;
	return r;
}

struct owned_checkpoints {
	struct husk_checkpoints checkpoints; /* must be first: the caller gets its address */
	struct pool pool;
};

struct husk_checkpoints *take_checkpoints(const struct checkpoint_answer *answer)
{
	struct owned_checkpoints *o = new0(struct owned_checkpoints);
	struct husk_checkpoints *c = &o->checkpoints;
	c->saved = take_checkpoint(&o->pool, answer->saved);
	c->restored = take_restored(&o->pool, answer->restored);
	c->note = pool_text(&o->pool, answer->note);
	c->v = take_checkpoint_list(&o->pool, answer->checkpoints, answer->n_checkpoints);
	c->n = answer->n_checkpoints;
	c->branches = take_checkpoint_list(&o->pool, answer->branches, answer->n_branches);
	c->n_branches = answer->n_branches;
	c->dropped = texts(&o->pool, &answer->dropped);
	c->n_dropped = answer->dropped.n;
	return c;
}

void husk_checkpoints_free(struct husk_checkpoints *c)
{
	if (!c)
		return;
	struct owned_checkpoints *o = container_of(c, struct owned_checkpoints, checkpoints);
	pool_release(&o->pool);
	free(o);
}
