#include "manager/files/lift.h"

#include "base/alloc.h"
#include "base/work.h"

/* As many as bulk work has threads. */
#define JOBS 2

struct job {
	struct lift *lift;
	bool running;
	uint64_t piece;
	struct digest *digest; /* of the piece, once it is copied */
	struct fail fail;
};

struct lift {
	struct lift_spec spec;
	uint64_t next, pieces, copied;
	struct job jobs[JOBS];
	struct fail fail; /* the first one */
};

static void copy(void *ctx)
{
	struct job *j = ctx;
	struct lift *l = j->lift;
	(void)sink_copy(l->spec.sink, l->spec.file, j->piece, &j->digest, &j->fail);
}

static void on_copied(void *ctx, bool forgotten);

static void start_next(struct job *j)
{
	struct lift *l = j->lift;
	if (l->fail.kind || l->next == l->pieces)
		return;
	j->piece = l->next++;
	j->running = true;
	(void)work_start(l->spec.loop, &(struct work_spec){ .fn = copy, .on_done = on_copied, .ctx = j, .bulk = true });
}

static void finish(struct lift *l)
{
	struct lift_spec spec = l->spec;
	AUTO(fail_release) struct fail f = l->fail;
	free(l);
	spec.on_done(spec.ctx, f.kind ? &f : NULL);
}

static void on_copied(void *ctx, bool forgotten UNUSED)
{
	struct job *j = ctx;
	struct lift *l = j->lift;
	j->running = false;
	if (j->digest) {
		sink_put(l->spec.sink, j->piece, take_ptr(j->digest));
		l->copied++;
		l->spec.on_progress(l->spec.ctx, MIN(l->copied * DIGEST_PIECE, sink_size(l->spec.sink)));
	} else if (!l->fail.kind) {
		fail_move(&l->fail, &j->fail);
	}
	fail_release(&j->fail);
	start_next(j);
	for (size_t i = 0; i < JOBS; i++)
		if (l->jobs[i].running)
			return;
	finish(l);
}

struct lift *lift_start(const struct lift_spec *spec, struct fail *f)
{
	int64_t pieces = sink_open(spec->sink, spec->file, f);
	if (pieces < 0)
		return NULL;
	struct lift *l = new0(struct lift);
	l->spec = *spec;
	l->pieces = (uint64_t)pieces;
	for (size_t i = 0; i < JOBS; i++) {
		l->jobs[i].lift = l;
		start_next(&l->jobs[i]);
	}
	return l;
}
