/* Answers to requests with an Idempotency-Key. */
#include "base/alloc.h"
#include "manager/model/token.h"
#include "manager/store/store-private.h"

struct answer_job {
	struct store_job base;
	struct answer_record row;
	char attempt[TOKEN_SIZE]; /* recognizes an insert of an earlier try of this job, whose connection broke */
	bool fresh;
	char *body; /* unsealed */
	store_answer_fn fn;
	store_done_fn done;
	void *ctx;
};

struct found_answer {
	struct answer_record row;
	const char *attempt;
};

static struct answer_job *answer_job_of(struct store_job *job)
{
	return container_of(job, struct answer_job, base);
}

static void release(struct store_job *job)
{
	free(answer_job_of(job)->body);
}

static struct answer_job *new_job(struct store *s, const struct answer_record *row,
				  int (*run)(struct store_job *job, struct db *db, struct fail *f),
				  void (*finish)(struct store_job *job, const struct fail *f), void *ctx)
{
	struct answer_job *j = job_new(s, sizeof(*j), run, finish);
	j->base.size = sizeof(struct found_answer);
	j->base.release = release;
	j->row = (struct answer_record){ .id = job_keep(&j->base, row->id),
					 .request = job_keep(&j->base, row->request),
					 .status = row->status,
					 .type = job_keep(&j->base, row->type),
					 .location = job_keep(&j->base, row->location),
					 .body = job_keep(&j->base, row->body) };
	j->ctx = ctx;
	return j;
}

/* --- begin --------------------------------------------------------------------------------------------------------- */

static void take_row(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct store_job *job = ctx;
	*(struct found_answer *)job_row(job) = (struct found_answer){ .row = { .id = column_text(job, &v[0]),
									       .request = column_text(job, &v[1]),
									       .status = (int)column_int(&v[2]),
									       .type = column_text(job, &v[3]),
									       .location = column_text(job, &v[4]),
									       .body = column_text(job, &v[5]) },
								      .attempt = column_text(job, &v[6]) };
}

static int open_body(struct answer_job *j, struct fail *f)
{
	struct found_answer *found = j->base.rows;
	if (!found->row.body)
		return 0;
	free(take_ptr(j->body));
	if (key_open(j->base.key, found->row.id, found->row.body, &j->body, f) < 0)
		return -1;
	found->row.body = j->body;
	return 0;
}

static int begin(struct store_job *job, struct db *db, struct fail *f)
{
	struct answer_job *j = answer_job_of(job);
	uint64_t now = store_now_ms();
	struct db_query drop = { .sql = "DELETE FROM answers WHERE created < $1",
				 DB_PARAMS(db_int(now - MIN(now, ANSWERS_KEPT_MS))) };
	struct db_query add = {
		.sql = "INSERT INTO answers (id, request, attempt, status, created) VALUES ($1, $2, $3, 0, $4) "
		       "ON CONFLICT (id) DO NOTHING",
		DB_PARAMS(db_text(j->row.id), db_text(j->row.request), db_text(j->attempt), db_int(now))
	};
	struct db_query get = {
		.sql = "SELECT id, request, status, type, location, body, attempt FROM answers WHERE id = $1",
		DB_PARAMS(db_text(j->row.id))
	};
	if (db_exec(db, &drop, f) < 0 || db_exec(db, &add, f) < 0 || job_select(job, db, get, take_row, f) < 0)
		return -1;
	const struct found_answer *found = job->rows;
	j->fresh = !job->n || streq(found->attempt, j->attempt);
	return j->fresh ? 0 : open_body(j, f);
}

static void finish_begin(struct store_job *job, const struct fail *f)
{
	struct answer_job *j = answer_job_of(job);
	const struct found_answer *found = job->rows;
	j->fn(j->ctx, f || j->fresh ? NULL : &found->row, f);
}

struct store_job *store_answer_begin(struct store *s, const char *id, const char *request, store_answer_fn fn,
				     void *ctx)
{
	struct answer_job *j =
		new_job(s, &(struct answer_record){ .id = id, .request = request }, begin, finish_begin, ctx);
	token_make(j->attempt);
	j->fn = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

/* --- end ----------------------------------------------------------------------------------------------------------- */

static int keep(struct store_job *job, struct db *db, struct fail *f)
{
	const struct answer_record *r = &answer_job_of(job)->row;
	AUTO(freep) char *sealed = NULL;
	if (r->body && key_seal(job->key, r->id, r->body, &sealed, f) < 0)
		return -1;
	struct db_query q = {
		.sql = "UPDATE answers SET status = $2, type = $3, location = $4, body = $5 WHERE id = $1",
		DB_PARAMS(db_text(r->id), db_int((uint64_t)r->status), db_text(r->type), db_text(r->location),
			  db_text(sealed))
	};
	return db_exec(db, &q, f);
}

static void finish_done(struct store_job *job, const struct fail *f)
{
	struct answer_job *j = answer_job_of(job);
	job_answer(j->done, j->ctx, "the answer to a request was not recorded", f);
}

struct store_job *store_answer_keep(struct store *s, const struct answer_record *row, store_done_fn fn, void *ctx)
{
	struct answer_job *j = new_job(s, row, keep, finish_done, ctx);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

static int drop_row(struct store_job *job, struct db *db, struct fail *f)
{
	struct db_query q = { .sql = "DELETE FROM answers WHERE id = $1 AND status = 0",
			      DB_PARAMS(db_text(answer_job_of(job)->row.id)) };
	return db_exec(db, &q, f);
}

void store_answer_drop(struct store *s, const char *id)
{
	struct answer_job *j = new_job(s, &(struct answer_record){ .id = id }, drop_row, finish_done, NULL);
	job_submit_write(&j->base, DB_DURABLE);
}
