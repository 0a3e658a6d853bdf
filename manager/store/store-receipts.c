/* Receipts. A receipt that another program wrote into the database is ignored, because its keyed hash is missing
 * or wrong. */
#include "manager/model/token.h"
#include "manager/store/chain.h"
#include "manager/store/store-private.h"

#define N_COLUMNS 6

struct receipt_job {
	struct store_job base;
	char key[TOKEN_HASH_SIZE];
	struct receipt_record row;
	struct fail failure; /* a hash that could not be computed */
	store_done_fn done;
	store_receipt_fn fn;
	void *ctx;
};

static struct receipt_job *new_job(struct store *s, const struct receipt_record *r,
				   int (*run)(struct store_job *job, struct db *db, struct fail *f),
				   void (*finish)(struct store_job *job, const struct fail *f), void *ctx)
{
	struct receipt_job *j = job_new(s, sizeof(*j), run, finish);
	token_hash(j->key, (const char *const[]){ r->image, r->engine, r->boot }, 3);
	j->row = *r;
	j->row.image = job_keep(&j->base, r->image);
	j->row.engine = job_keep(&j->base, r->engine);
	j->row.boot = job_keep(&j->base, r->boot);
	j->row.result = job_keep(&j->base, r->result);
	j->base.size = sizeof(struct receipt_record);
	j->ctx = ctx;
	return j;
}

/* --- put --------------------------------------------------------------------------------------------------------- */

static int put(struct store_job *job, struct db *db, struct fail *f)
{
	struct receipt_job *j = container_of(job, struct receipt_job, base);
	const struct receipt_record *r = &j->row;
	AUTO(chain_release) struct chain chain = { .db = db, .key = j->base.key };
	struct db_query q = {
		.sql = "INSERT INTO receipts (" RECEIPT_COLUMNS
		       ") VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (key) DO UPDATE SET image = excluded.image, engine = excluded.engine, "
		       "boot = excluded.boot, result = excluded.result, created = excluded.created RETURNING " RECEIPT_COLUMNS,
		DB_PARAMS(db_text(j->key), db_text(r->image), db_text(r->engine), db_text(r->boot), db_text(r->result),
			  db_int(r->created))
	};
	if (chain_begin(&chain, store_now_ms(), f) < 0 || chain_exec(&chain, &q, STORE_CHAIN, CHAIN_RECEIPT, 0, f) < 0)
		return -1;
	return chain_end(&chain, f);
}

static void finish_put(struct store_job *job, const struct fail *f)
{
	struct receipt_job *j = container_of(job, struct receipt_job, base);
	job_answer(j->done, j->ctx, "a receipt was not recorded", f);
}

struct store_job *store_receipt_put(struct store *s, const struct receipt_record *r, store_done_fn fn, void *ctx)
{
	struct receipt_job *j = new_job(s, r, put, finish_put, ctx);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

/* --- get --------------------------------------------------------------------------------------------------------- */

static void take_row(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct store_job *job = ctx;
	struct receipt_job *j = container_of(job, struct receipt_job, base);
	char content[KEY_HASH_SIZE];
	if (chain_hash(job->key, CHAIN_RECEIPT, v, N_COLUMNS, content, &j->failure) < 0 ||
	    v[N_COLUMNS].kind != DB_TEXT || !streq(content, v[N_COLUMNS].text))
		return;
	*(struct receipt_record *)job_row(job) = (struct receipt_record){
		.image = column_text(job, &v[1]),
		.engine = column_text(job, &v[2]),
		.boot = column_text(job, &v[3]),
		.result = column_text(job, &v[4]),
		.created = column_int(&v[5]),
	};
}

static int run_get(struct store_job *job, struct db *db, struct fail *f)
{
	struct receipt_job *j = container_of(job, struct receipt_job, base);
	struct db_query q = {
		.sql = "SELECT " RECEIPT_COLUMNS
		       ", (SELECT content FROM chain c WHERE c.session = '' AND c.kind = 'receipt' AND c.item = $1 ORDER BY c.position DESC LIMIT 1) "
		       "FROM receipts WHERE key = $1",
		DB_PARAMS(db_text(j->key))
	};
	if (job_select(job, db, q, take_row, f) < 0)
		return -1;
	if (!j->failure.kind)
		return 0;
	fail_move(f, &j->failure);
	return -1;
}

static void finish_get(struct store_job *job, const struct fail *f)
{
	struct receipt_job *j = container_of(job, struct receipt_job, base);
	j->fn(j->ctx, !f && job->n ? job->rows : NULL, f);
}

struct store_job *store_receipt_get(struct store *s, const char *image, const char *engine, const char *boot,
				    store_receipt_fn fn, void *ctx)
{
	struct receipt_record r = { .image = image, .engine = engine, .boot = boot };
	struct receipt_job *j = new_job(s, &r, run_get, finish_get, ctx);
	j->fn = fn;
	return job_submit(&j->base);
}
