/* Code and output of runs, as sealed pieces, if HISTORY_KEEPS_CODE is set. The first piece of a run is its code. */
#include "base/alloc.h"
#include "manager/store/store-private.h"

/* Limits of one answer, because it is read into memory completely. */
#define PIECES_MAX 50000
#define BYTES_MAX (256u << 20)

struct cell_job {
	struct store_job base;
	struct cell_piece piece;
	char *made;   /* returned by piece.make; owned by the job */
	size_t bytes; /* bytes of sealed text that were read so far */
	bool cut;
	store_cells_fn fn;
	void *ctx;
};

static struct cell_job *cell_job_of(struct store_job *job)
{
	return container_of(job, struct cell_job, base);
}

/* A piece can be unsealed only for the session and run that it was written for. */
static char *seal_name(const char *session, uint64_t seq)
{
	return xasprintf("cell %s %llu", session, (unsigned long long)seq);
}

/* --- written ----------------------------------------------------------------------------------------------------- */

static int put(struct store_job *job, struct db *db, struct fail *f)
{
	struct cell_job *j = cell_job_of(job);
	const struct cell_piece *p = &j->piece;
	AUTO(freep) char *name = seal_name(p->session, p->seq), *sealed = NULL;
	char hash[KEY_HASH_SIZE];
	if (key_seal(j->base.key, name, p->content, &sealed, f) < 0 ||
	    key_hash(j->base.key, p->content, strlen(p->content), hash, f) < 0)
		return -1;
	const char *kind = p->output ? "output" : "text";
	AUTO(freep) char *mark = xasprintf("%s %llu %s", kind, (unsigned long long)p->at, hash);
	struct db_query q = {
		.sql = "INSERT INTO cells (session, seq, piece, kind, mark, sealed) SELECT $1, $2, COALESCE(MAX(piece), 0) + 1, $3, $4, $5 "
		       "FROM cells WHERE session = $1 AND seq = $2 ON CONFLICT (session, seq, mark) DO NOTHING",
		DB_PARAMS(db_text(p->session), db_int(p->seq), db_text(kind), db_text(mark), db_text(sealed))
	};
	return db_exec(db, &q, f);
}

static int run_put(struct store_job *job, struct db *db, struct fail *f)
{
	struct cell_job *j = cell_job_of(job);
	if (j->piece.make && !j->made) /* once, even if the job is retried */
		j->piece.content = j->made = j->piece.make(j->piece.ctx);
	return j->piece.content ? job_transaction(job, db, DB_RELAXED, put, f) : 0;
}

static void release_put(struct store_job *job)
{
	struct cell_job *j = cell_job_of(job);
	free(j->made);
	if (j->piece.release)
		j->piece.release(j->piece.ctx);
}

static void finish_put(struct store_job *job, const struct fail *f)
{
	const struct cell_piece *p = &cell_job_of(job)->piece;
	job_answer(NULL, NULL, "the code or output of a run was not stored", f);
	if (p->on_stored)
		p->on_stored(p->stored_ctx, p->session, p->seq, f);
}

void store_cell_put(struct store *s, const struct cell_piece *piece)
{
	struct cell_job *j = job_new(s, sizeof(*j), run_put, finish_put);
	j->base.release = release_put;
	j->piece = *piece;
	j->piece.session = job_keep(&j->base, piece->session);
	j->piece.content = job_keep(&j->base, piece->content);
	(void)job_submit(&j->base);
}

/* --- read -------------------------------------------------------------------------------------------------------- */

static void take_row(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct cell_job *j = cell_job_of(ctx);
	size_t bytes = v[2].kind == DB_TEXT ? strlen(v[2].text) : 0;
	if (j->cut || j->bytes + bytes > BYTES_MAX) {
		j->cut = true;
		return;
	}
	j->bytes += bytes;
	*(struct cell_piece *)job_row(&j->base) = (struct cell_piece){
		.session = j->piece.session,
		.seq = column_int(&v[0]),
		.output = v[1].kind == DB_TEXT && streq(v[1].text, "output"),
		.content = column_text(&j->base, &v[2]),
	};
}

static int open_all(struct cell_job *j, struct fail *f)
{
	struct cell_piece *pieces = j->base.rows;
	for (size_t i = 0; i < j->base.n; i++) {
		AUTO(freep) char *name = seal_name(pieces[i].session, pieces[i].seq), *text = NULL;
		if (key_open(j->base.key, name, pieces[i].content ? pieces[i].content : "", &text, f) < 0)
			return -1;
		pieces[i].content = job_keep(&j->base, text);
	}
	return 0;
}

static int run_list(struct store_job *job, struct db *db, struct fail *f)
{
	struct cell_job *j = cell_job_of(job);
	struct db_query q = { .sql = "SELECT seq, kind, sealed FROM cells WHERE session = $1 AND (seq = $2 OR $2 = 0) "
				     "ORDER BY seq, piece LIMIT $3",
			      DB_PARAMS(db_text(j->piece.session), db_int(j->piece.seq), db_int(PIECES_MAX)) };
	j->bytes = 0;
	j->cut = false;
	return job_select(job, db, q, take_row, f) < 0 ? -1 : open_all(j, f);
}

static void finish_list(struct store_job *job, const struct fail *f)
{
	struct cell_job *j = cell_job_of(job);
	struct cell_list list = { .v = job->rows, .n = job->n, .cut = j->cut || job->n == PIECES_MAX };
	j->fn(j->ctx, f ? NULL : &list, f);
}

struct store_job *store_cells(struct store *s, const char *session, uint64_t seq, store_cells_fn fn, void *ctx)
{
	struct cell_job *j = job_new(s, sizeof(*j), run_list, finish_list);
	j->base.size = sizeof(struct cell_piece);
	j->piece.session = job_keep(&j->base, session);
	j->piece.seq = seq;
	j->fn = fn;
	j->ctx = ctx;
	return job_submit(&j->base);
}
