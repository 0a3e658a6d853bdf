/* Verifies the chains of the log, and prunes old records. */
#include "manager/store/chain.h"
#include "manager/store/store-private.h"

/* Sessions to prune in one job. The limit is low because each is verified completely first. */
#define PRUNED_MAX 20

struct verify_job {
	struct store_job base;
	const char *session;
	struct log_verdict verdict;
	store_verdict_fn fn;
	void *ctx;
};

struct names_job {
	struct store_job base;
	struct strv names;
	uint64_t before, removed;
	store_names_fn fn;
	store_count_fn count;
	void *ctx;
};

/* --- verify ------------------------------------------------------------------------------------------------------ */

/* Called in an exclusive transaction, so that nothing is written in the meantime. */
static int verify(struct store_job *job, struct db *db, struct fail *f)
{
	struct verify_job *j = container_of(job, struct verify_job, base);
	verdict_release(&j->verdict);
	return chain_verify(db, j->base.key, j->session, &j->verdict, f);
}

static void finish_verify(struct store_job *job, const struct fail *f)
{
	struct verify_job *j = container_of(job, struct verify_job, base);
	j->fn(j->ctx, f ? NULL : &j->verdict, f);
}

static void release_verify(struct store_job *job)
{
	verdict_release(&container_of(job, struct verify_job, base)->verdict);
}

struct store_job *store_verify(struct store *s, const char *session, store_verdict_fn fn, void *ctx)
{
	struct verify_job *j = job_new(s, sizeof(*j), verify, finish_verify);
	j->base.release = release_verify;
	j->session = job_keep(&j->base, session);
	j->fn = fn;
	j->ctx = ctx;
	return job_submit_write(&j->base, DB_RELAXED);
}

/* --- names ------------------------------------------------------------------------------------------------------- */

static void take_name(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct names_job *j = ctx;
	if (v[0].kind == DB_TEXT)
		strv_add(&j->names, v[0].text);
}

static void release_names(struct store_job *job)
{
	strv_release(&container_of(job, struct names_job, base)->names);
}

static struct names_job *new_names(struct store *s, int (*run)(struct store_job *job, struct db *db, struct fail *f),
				   void (*finish)(struct store_job *job, const struct fail *f), void *ctx)
{
	struct names_job *j = job_new(s, sizeof(*j), run, finish);
	j->base.release = release_names;
	j->ctx = ctx;
	return j;
}

static int run_chains(struct store_job *job, struct db *db, struct fail *f)
{
	struct names_job *j = container_of(job, struct names_job, base);
	struct db_query q = {
		.sql = "SELECT session FROM executions UNION SELECT session FROM exports UNION SELECT session FROM chain "
		       "UNION SELECT session FROM chain_heads UNION SELECT session FROM chain_tombstones UNION SELECT '' ORDER BY 1",
		.on_row = take_name,
		.ctx = j
	};
	strv_release(&j->names);
	return db_exec(db, &q, f);
}

static void finish_chains(struct store_job *job, const struct fail *f)
{
	struct names_job *j = container_of(job, struct names_job, base);
	j->fn(j->ctx, f ? NULL : j->names.v, f ? 0 : j->names.n, f);
}

struct store_job *store_chains(struct store *s, store_names_fn fn, void *ctx)
{
	struct names_job *j = new_names(s, run_chains, finish_chains, ctx);
	j->fn = fn;
	return job_submit(&j->base);
}

/* --- prune ------------------------------------------------------------------------------------------------------- */

static int prune(struct store_job *job, struct db *db, struct fail *f)
{
	struct names_job *j = container_of(job, struct names_job, base);
	struct db_query q = { .sql = "SELECT id FROM sessions s WHERE state = 'ended' AND ended > 0 AND ended < $1 "
				     "AND EXISTS (SELECT 1 FROM executions e WHERE e.session = s.id) ORDER BY ended",
			      DB_PARAMS(db_int(j->before)),
			      .on_row = take_name,
			      .ctx = j };
	strv_release(&j->names);
	j->removed = 0;
	if (db_exec(db, &q, f) < 0)
		return -1;
	for (size_t i = 0, done = 0; i < j->names.n && done < PRUNED_MAX; i++) {
		uint64_t n;
		if (chain_prune(db, j->base.key, j->names.v[i], store_now_ms(), &n, f) < 0)
			return -1;
		j->removed += n;
		done += n > 0;
	}
	return 0;
}

static void finish_prune(struct store_job *job, const struct fail *f)
{
	struct names_job *j = container_of(job, struct names_job, base);
	j->count(j->ctx, f ? 0 : j->removed, f);
}

struct store_job *store_prune(struct store *s, uint64_t ended_before, store_count_fn fn, void *ctx)
{
	struct names_job *j = new_names(s, prune, finish_prune, ctx);
	j->before = ended_before;
	j->count = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}
