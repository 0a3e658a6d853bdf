/* Dependency sets. Each is installed once and kept as an image. Its row names the server that is building it. */
#include "manager/store/store-private.h"

#define COLUMNS "key, image, runtime, wanted, versions, unpinned, size, built, used, builder, builder_until"
#define SETS_MAX 10000

struct set_job {
	struct store_job base;
	struct set_record row;
	uint64_t stale_before;
	bool yours;
	store_set_fn fn;
	store_done_fn done;
	store_sets_fn list;
	void *ctx;
};

static void take_row(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct store_job *job = ctx;
	*(struct set_record *)job_row(job) = (struct set_record){
		.key = column_text(job, &v[0]),
		.image = column_text(job, &v[1]),
		.runtime = column_text(job, &v[2]),
		.wanted = column_text(job, &v[3]),
		.versions = column_text(job, &v[4]),
		.unpinned = column_int(&v[5]),
		.size = column_int(&v[6]),
		.built = column_int(&v[7]),
		.used = column_int(&v[8]),
		.builder = column_text(job, &v[9]),
		.builder_until = column_int(&v[10]),
	};
}

static struct set_job *new_job(struct store *s, int (*run)(struct store_job *job, struct db *db, struct fail *f),
			       void (*finish)(struct store_job *job, const struct fail *f), void *ctx)
{
	struct set_job *j = job_new(s, sizeof(*j), run, finish);
	j->base.size = sizeof(struct set_record);
	j->ctx = ctx;
	return j;
}

static void keep_row(struct set_job *j, const struct set_record *row)
{
	j->row = *row;
	j->row.key = job_keep(&j->base, row->key);
	j->row.image = job_keep(&j->base, row->image);
	j->row.runtime = job_keep(&j->base, row->runtime);
	j->row.wanted = job_keep(&j->base, row->wanted);
	j->row.versions = job_keep(&j->base, row->versions);
	j->row.builder = job_keep(&j->base, row->builder);
}

static int find(struct set_job *j, struct db *db, struct fail *f)
{
	struct db_query q = { .sql = "SELECT " COLUMNS " FROM dependency_sets WHERE key = $1",
			      DB_PARAMS(db_text(j->row.key)) };
	return job_select(&j->base, db, q, take_row, f);
}

/* --- claim ------------------------------------------------------------------------------------------------------- */

static bool is_free(const struct set_job *j, const struct set_record *found)
{
	if (!found)
		return true;
	if (!found->builder)
		return !found->versions || (found->unpinned && found->built < j->stale_before);
	/* On a retry, the first attempt may have committed although its connection broke. */
	return found->builder_until < store_now_ms() ||
	       (j->base.retried && j->row.builder && streq(found->builder, j->row.builder) &&
		found->builder_until == j->row.builder_until);
}

static int claim(struct store_job *job, struct db *db, struct fail *f)
{
	struct set_job *j = container_of(job, struct set_job, base);
	const struct set_record *r = &j->row;
	if (find(j, db, f) < 0)
		return -1;
	j->yours = is_free(j, j->base.n ? j->base.rows : NULL);
	if (!j->yours)
		return 0;
	struct db_query drop = { .sql = "DELETE FROM dependency_sets WHERE key = $1", DB_PARAMS(db_text(r->key)) };
	struct db_query add = { .sql = "INSERT INTO dependency_sets (" COLUMNS
				       ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
				DB_PARAMS(db_text(r->key), db_text(r->image), db_text(r->runtime), db_text(r->wanted),
					  db_text(r->versions), db_int(r->unpinned), db_int(r->size), db_int(r->built),
					  db_int(r->used), db_text(r->builder), db_int(r->builder_until)) };
	if (db_exec(db, &drop, f) < 0 || db_exec(db, &add, f) < 0)
		return -1;
	return find(j, db, f);
}

static void finish_claim(struct store_job *job, const struct fail *f)
{
	struct set_job *j = container_of(job, struct set_job, base);
	j->fn(j->ctx, !f && job->n ? job->rows : NULL, !f && j->yours, f);
}

struct store_job *store_set_claim(struct store *s, const struct set_record *row, uint64_t stale_before, store_set_fn fn,
				  void *ctx)
{
	struct set_job *j = new_job(s, claim, finish_claim, ctx);
	keep_row(j, row);
	j->stale_before = stale_before;
	j->fn = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

/* --- built, used, removed ---------------------------------------------------------------------------------------- */

static void finish_done(struct store_job *job, const struct fail *f)
{
	struct set_job *j = container_of(job, struct set_job, base);
	job_answer(j->done, j->ctx, "a dependency set was not recorded", f);
}

/* On a retry, the first attempt may have recorded the build although its connection broke. */
static int renew_or_finish(struct store_job *job, struct db *db, struct fail *f)
{
	struct set_job *j = container_of(job, struct set_job, base);
	const struct set_record *r = &j->row;
	struct db_query renew = {
		.sql = "UPDATE dependency_sets SET builder_until = $3 WHERE key = $1 AND builder = $2",
		DB_PARAMS(db_text(r->key), db_text(r->builder), db_int(r->builder_until))
	};
	struct db_query finish = {
		.sql = "UPDATE dependency_sets SET image = $3, versions = $4, size = $5, built = $6, used = $7, unpinned = $8, builder = NULL, builder_until = 0 "
		       "WHERE key = $1 AND builder = $2",
		DB_PARAMS(db_text(r->key), db_text(r->builder), db_text(r->image), db_text(r->versions),
			  db_int(r->size), db_int(r->built), db_int(r->used), db_int(r->unpinned))
	};
	struct db_query *q = r->versions ? &finish : &renew;
	if (db_exec(db, q, f) < 0)
		return -1;
	if (q->changed)
		return 0;
	if (j->base.retried && r->versions) {
		if (find(j, db, f) < 0)
			return -1;
		const struct set_record *found = j->base.n ? j->base.rows : NULL;
		if (found && !found->builder && found->built == r->built)
			return 0;
	}
	fail_set(f, FAIL_FOREIGN, "another server is building this dependency set now");
	return fail_hint(f, "try again later, to use its result");
}

struct store_job *store_set_built(struct store *s, const struct set_record *row, store_done_fn fn, void *ctx)
{
	struct set_job *j = new_job(s, renew_or_finish, finish_done, ctx);
	keep_row(j, row);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

static int touch(struct store_job *job, struct db *db, struct fail *f)
{
	struct set_job *j = container_of(job, struct set_job, base);
	struct db_query q = { .sql = "UPDATE dependency_sets SET used = $2 WHERE key = $1",
			      DB_PARAMS(db_text(j->row.key), db_int(store_now_ms())) };
	return db_exec(db, &q, f);
}

struct store_job *store_set_used(struct store *s, const char *key, store_done_fn fn, void *ctx)
{
	struct set_job *j = new_job(s, touch, finish_done, ctx);
	j->row.key = job_keep(&j->base, key);
	j->done = fn;
	return job_submit_write(&j->base, DB_RELAXED);
}

static int forget(struct store_job *job, struct db *db, struct fail *f)
{
	struct set_job *j = container_of(job, struct set_job, base);
	struct db_query q = { .sql = "DELETE FROM dependency_sets WHERE key = $1", DB_PARAMS(db_text(j->row.key)) };
	return db_exec(db, &q, f);
}

struct store_job *store_set_remove(struct store *s, const char *key, store_done_fn fn, void *ctx)
{
	struct set_job *j = new_job(s, forget, finish_done, ctx);
	j->row.key = job_keep(&j->base, key);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

/* --- list -------------------------------------------------------------------------------------------------------- */

static int run_list(struct store_job *job, struct db *db, struct fail *f)
{
	struct db_query q = { .sql = "SELECT " COLUMNS " FROM dependency_sets ORDER BY used, key LIMIT $1",
			      DB_PARAMS(db_int(SETS_MAX)) };
	return job_select(job, db, q, take_row, f);
}

static void finish_list(struct store_job *job, const struct fail *f)
{
	struct set_job *j = container_of(job, struct set_job, base);
	struct set_list list = { .v = f ? NULL : job->rows, .n = f ? 0 : job->n };
	j->list(j->ctx, f ? NULL : &list, f);
}

struct store_job *store_sets(struct store *s, store_sets_fn fn, void *ctx)
{
	struct set_job *j = new_job(s, run_list, finish_list, ctx);
	j->list = fn;
	return job_submit(&j->base);
}
