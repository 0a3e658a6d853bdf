#include "manager/files/fd-copy.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "base/work.h"

/* The number of threads for bulk work. */
#define JOBS 2
/* Returning to the loop after each piece would leave the thread idle; copying all pieces at once would block other
 * transfers. */
#define PIECES_AT_ONCE 4

struct copy_job {
	struct fd_copy *fd_copy;
	bool running;
	size_t n; /* pieces that it has copied */
	uint64_t pieces[PIECES_AT_ONCE];
	struct digest *digests[PIECES_AT_ONCE];
	uint8_t *buffer;
	struct fail fail;
};

struct fd_copy {
	struct fd_copy_spec spec;
	uint64_t pieces, copied;
	atomic_uint_fast64_t next;
	struct copy_job jobs[JOBS];
	struct fail fail; /* the first failure */
};

static void copy(void *ctx)
{
	struct copy_job *j = ctx;
	struct fd_copy *l = j->fd_copy;
	while (j->n < PIECES_AT_ONCE) {
		uint64_t piece = atomic_fetch_add(&l->next, 1);
		if (piece >= l->pieces)
			break;
		j->pieces[j->n] = piece;
		if (sink_copy(l->spec.sink, l->spec.file, piece, j->buffer, &j->digests[j->n], &j->fail) < 0)
			break;
		j->n++;
	}
}

static void on_copied(void *ctx, bool forgotten);

static void start_next(struct copy_job *j)
{
	struct fd_copy *l = j->fd_copy;
	if (l->fail.kind || atomic_load(&l->next) >= l->pieces)
		return;
	j->running = true;
	(void)work_start(l->spec.loop, &(struct work_spec){ .fn = copy, .on_done = on_copied, .ctx = j, .bulk = true });
}

static void finish(struct fd_copy *l)
{
	struct fd_copy_spec spec = l->spec;
	AUTO(fail_release) struct fail f = l->fail;
	for (size_t i = 0; i < JOBS; i++)
		free(l->jobs[i].buffer);
	free(l);
	spec.on_done(spec.ctx, f.kind ? &f : NULL);
}

static void on_copied(void *ctx, bool forgotten UNUSED)
{
	struct copy_job *j = ctx;
	struct fd_copy *l = j->fd_copy;
	j->running = false;
	for (size_t i = 0; i < j->n; i++)
		sink_put(l->spec.sink, j->pieces[i], take_ptr(j->digests[i]));
	l->copied += j->n;
	j->n = 0;
	if (!l->fail.kind)
		fail_move(&l->fail, &j->fail);
	fail_release(&j->fail);
	if (!l->fail.kind)
		l->spec.on_progress(l->spec.ctx, MIN(l->copied * DIGEST_PIECE, sink_size(l->spec.sink)));
	start_next(j);
	for (size_t i = 0; i < JOBS; i++)
		if (l->jobs[i].running)
			return;
	finish(l);
}

struct fd_copy *fd_copy_start(const struct fd_copy_spec *spec, struct fail *f)
{
	int64_t pieces = sink_open(spec->sink, spec->file, f);
	if (pieces < 0)
		return NULL;
	struct fd_copy *l = new0(struct fd_copy);
	l->spec = *spec;
	l->pieces = (uint64_t)pieces;
	for (size_t i = 0; i < JOBS; i++) {
		l->jobs[i].fd_copy = l;
		l->jobs[i].buffer = xmalloc(SINK_COPY_BYTES);
		start_next(&l->jobs[i]);
	}
	return l;
}
