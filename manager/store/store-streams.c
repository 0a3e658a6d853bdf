/* Open streams of tenants that have a limit of them. Each server renews its own; those of a server that was killed
 * stop to count after STREAM_LEASE_MS. */
#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/store/store-private.h"

struct stream_job {
	struct store_job base;
	const char *id, *tenant, *owner;
	store_done_fn done;
	void *ctx;
};

static struct stream_job *stream_job_of(struct store_job *job)
{
	return container_of(job, struct stream_job, base);
}

static void finish(struct store_job *job, const struct fail *f)
{
	struct stream_job *j = stream_job_of(job);
	job_answer(j->done, j->ctx, "the number of open streams was not recorded", f);
}

static struct stream_job *new_job(struct store *s, const char *id, const char *tenant, const char *owner,
				  int (*run)(struct store_job *job, struct db *db, struct fail *f))
{
	struct stream_job *j = job_new(s, sizeof(*j), run, finish);
	j->id = job_keep(&j->base, id);
	j->tenant = job_keep(&j->base, tenant);
	j->owner = job_keep(&j->base, owner);
	return j;
}

/* --- claim --------------------------------------------------------------------------------------------------------- */

static int claim(struct store_job *job, struct db *db, struct fail *f)
{
	const struct stream_job *j = stream_job_of(job);
	uint64_t now = store_now_ms(), open;
	struct tenant_limits most;
	struct db_query drop = { .sql = "DELETE FROM streams WHERE until < $1", DB_PARAMS(db_int(now)) };
	/* On a retry, the first attempt may have committed although its connection broke. */
	struct db_query count = { .sql = "SELECT COUNT(*) FROM streams WHERE tenant = $1 AND id <> $2",
				  DB_PARAMS(db_text(j->tenant), db_text(j->id)) };
	struct db_query add = {
		.sql = "INSERT INTO streams (id, tenant, owner, until) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING",
		DB_PARAMS(db_text(j->id), db_text(j->tenant), db_text(j->owner), db_int(now + STREAM_LEASE_MS))
	};
	if (tenant_limits_read(db, j->tenant, &most, f) < 0 || db_exec(db, &drop, f) < 0 ||
	    db_number(db, &count, &open, f) < 0)
		return -1;
	if (!most.streams || open < most.streams)
		return db_exec(db, &add, f);
	cause_set(f, FAIL_LIMIT, CAUSE_LIMIT_TENANT, "This tenant has %llu open streams, the maximum.",
		  (unsigned long long)most.streams);
	return fail_hint(f, "Close one.");
}

struct store_job *store_stream_claim(struct store *s, const struct stream_record *row, store_done_fn fn, void *ctx)
{
	struct stream_job *j = new_job(s, row->id, row->tenant, row->owner, claim);
	j->done = fn;
	j->ctx = ctx;
	return job_submit_write(&j->base, DB_RELAXED);
}

/* --- renew and release --------------------------------------------------------------------------------------------- */

static int renew(struct store_job *job, struct db *db, struct fail *f)
{
	struct db_query q = { .sql = "UPDATE streams SET until = $2 WHERE owner = $1",
			      DB_PARAMS(db_text(stream_job_of(job)->owner), db_int(store_now_ms() + STREAM_LEASE_MS)) };
	return db_exec(db, &q, f);
}

void store_streams_renew(struct store *s, const char *owner)
{
	job_submit_write(&new_job(s, NULL, NULL, owner, renew)->base, DB_RELAXED);
}

static int release(struct store_job *job, struct db *db, struct fail *f)
{
	struct db_query q = { .sql = "DELETE FROM streams WHERE id = $1", DB_PARAMS(db_text(stream_job_of(job)->id)) };
	return db_exec(db, &q, f);
}

void store_stream_release(struct store *s, const char *id)
{
	job_submit_write(&new_job(s, id, NULL, NULL, release)->base, DB_RELAXED);
}

static int release_all(struct store_job *job, struct db *db, struct fail *f)
{
	struct db_query q = { .sql = "DELETE FROM streams WHERE owner = $1",
			      DB_PARAMS(db_text(stream_job_of(job)->owner)) };
	return db_exec(db, &q, f);
}

void store_streams_leave(struct store *s, const char *owner)
{
	job_submit_write(&new_job(s, NULL, NULL, owner, release_all)->base, DB_RELAXED);
}
