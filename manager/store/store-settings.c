/* Settings that are kept, sealed. */
#include "base/alloc.h"
#include "manager/store/store-private.h"

struct setting_job {
	struct store_job base;
	const char *name, *value; /* a value that was found is the job's own */
	char *found;
	store_done_fn done;
	store_setting_fn fn;
	void *ctx;
};

static void release(struct store_job *job)
{
	struct setting_job *j = container_of(job, struct setting_job, base);
	free(j->found);
}

static struct setting_job *new_job(struct store *s, const char *name,
				   int (*run)(struct store_job *job, struct db *db, struct fail *f),
				   void (*finish)(struct store_job *job, const struct fail *f))
{
	struct setting_job *j = job_new(s, sizeof(*j), run, finish);
	j->base.release = release;
	j->name = job_keep(&j->base, name);
	return j;
}

static int put(struct db *db, void *ctx, struct fail *f)
{
	struct setting_job *j = ctx;
	if (!j->value) {
		struct db_query q = { .sql = "DELETE FROM settings WHERE name = $1", DB_PARAMS(db_text(j->name)) };
		return db_exec(db, &q, f);
	}
	AUTO(freep) char *sealed = NULL;
	if (key_seal(j->base.key, j->name, j->value, &sealed, f) < 0)
		return -1;
	struct db_query q = {
		.sql = "INSERT INTO settings (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed",
		DB_PARAMS(db_text(j->name), db_text(sealed))
	};
	return db_exec(db, &q, f);
}

static int run_put(struct store_job *job, struct db *db, struct fail *f)
{
	return job_transaction(job, db, DB_DURABLE, put, f);
}

static void finish_put(struct store_job *job, const struct fail *f)
{
	struct setting_job *j = container_of(job, struct setting_job, base);
	job_answer(j->done, j->ctx, "a setting was not stored", f);
}

struct store_job *store_setting_put(struct store *s, const char *name, const char *value, store_done_fn fn, void *ctx)
{
	struct setting_job *j = new_job(s, name, run_put, finish_put);
	j->value = job_keep(&j->base, value);
	j->done = fn;
	j->ctx = ctx;
	return job_submit(&j->base);
}

static void take_sealed(void *ctx, const struct db_value *columns, size_t n)
{
	char **sealed = ctx;
	if (n && columns[0].kind == DB_TEXT && !*sealed)
		*sealed = xstrdup(columns[0].text);
}

static int run_get(struct store_job *job, struct db *db, struct fail *f)
{
	struct setting_job *j = container_of(job, struct setting_job, base);
	AUTO(freep) char *sealed = NULL;
	struct db_query q = { .sql = "SELECT sealed FROM settings WHERE name = $1",
			      DB_PARAMS(db_text(j->name)),
			      .on_row = take_sealed,
			      .ctx = &sealed };
	if (db_exec(db, &q, f) < 0)
		return -1;
	return sealed ? key_open(job->key, j->name, sealed, &j->found, f) : 0;
}

static void finish_get(struct store_job *job, const struct fail *f)
{
	struct setting_job *j = container_of(job, struct setting_job, base);
	j->fn(j->ctx, f ? NULL : j->found, f);
}

struct store_job *store_setting_get(struct store *s, const char *name, store_setting_fn fn, void *ctx)
{
	struct setting_job *j = new_job(s, name, run_get, finish_get);
	j->fn = fn;
	j->ctx = ctx;
	return job_submit(&j->base);
}
