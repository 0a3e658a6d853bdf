/* Secrets of tenants. A value is sealed together with its tenant, its hosts and the places where it may be used: a
 * program that can write to the database can neither read it nor send it to another host. */
#include "base/alloc.h"
#include "manager/store/store-private.h"

#define COLUMNS "name, tenant, hosts, header, query, basic, created, changed"

struct secret_job {
	struct store_job base;
	struct secret_record row;
	size_t n_names;
	store_done_fn done;
	store_secrets_fn fn;
	store_text_fn text;
	char version[48];
	void *ctx;
};

static struct secret_job *secret_job_of(struct store_job *job)
{
	return container_of(job, struct secret_job, base);
}

static void wipe(const char *value)
{
	if (value)
		explicit_bzero((char *)(uintptr_t)value, strlen(value));
}

/* Values are strings of the job, which are freed after this. */
static void release(struct store_job *job)
{
	struct secret_record *rows = job->rows;
	wipe(secret_job_of(job)->row.value);
	for (size_t i = 0; i < job->n; i++)
		wipe(rows[i].value);
}

static struct secret_job *new_job(struct store *s, const struct secret_record *row,
				  int (*run)(struct store_job *job, struct db *db, struct fail *f),
				  void (*finish)(struct store_job *job, const struct fail *f), void *ctx)
{
	struct secret_job *j = job_new(s, sizeof(*j), run, finish);
	const struct secret_info *i = &row->info;
	j->base.size = sizeof(struct secret_record);
	j->base.release = release;
	j->row = (struct secret_record){ .info = { .name = job_keep(&j->base, i->name),
						   .tenant = job_keep(&j->base, i->tenant),
						   .hosts = job_keep(&j->base, i->hosts),
						   .header = job_keep(&j->base, i->header),
						   .query = job_keep(&j->base, i->query),
						   .basic = job_keep(&j->base, i->basic),
						   .created_ms = store_now_ms() },
					 .value = job_keep(&j->base, row->value) };
	j->ctx = ctx;
	return j;
}

static char *seal_name(const struct secret_info *i)
{
	return xasprintf("secret\n%s\n%s\n%s\n%s\n%s\n%s", i->tenant, i->name, i->hosts, i->header ? i->header : "",
			 i->query ? i->query : "", i->basic ? i->basic : "");
}

static void finish_done(struct store_job *job, const struct fail *f)
{
	struct secret_job *j = secret_job_of(job);
	job_answer(j->done, j->ctx, "a secret was not stored", f);
}

/* --- put and remove ------------------------------------------------------------------------------------------------ */

static int put(struct store_job *job, struct db *db, struct fail *f)
{
	const struct secret_record *r = &secret_job_of(job)->row;
	const struct secret_info *i = &r->info;
	AUTO(freep) char *sealed = NULL, *name = seal_name(i);
	uint64_t others;
	struct db_query count = { .sql = "SELECT COUNT(*) FROM secrets WHERE tenant = $1 AND name <> $2",
				  DB_PARAMS(db_text(i->tenant), db_text(i->name)) };
	if (key_seal(job->key, name, r->value, &sealed, f) < 0 || db_number(db, &count, &others, f) < 0)
		return -1;
	if (others >= SECRETS_MAX)
		return fail_set(f, FAIL_LIMIT, "there are already %d secrets; remove some first", SECRETS_MAX);
	struct db_query q = {
		.sql = "INSERT INTO secrets (" COLUMNS ", sealed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) "
		       "ON CONFLICT (tenant, name) DO UPDATE SET hosts = excluded.hosts, header = excluded.header, "
		       "query = excluded.query, basic = excluded.basic, changed = excluded.changed, sealed = excluded.sealed",
		DB_PARAMS(db_text(i->name), db_text(i->tenant), db_text(i->hosts), db_text(i->header),
			  db_text(i->query), db_text(i->basic), db_int(i->created_ms), db_int(i->created_ms),
			  db_text(sealed))
	};
	return db_exec(db, &q, f);
}

struct store_job *store_secret_put(struct store *s, const struct secret_record *row, store_done_fn fn, void *ctx)
{
	struct secret_job *j = new_job(s, row, put, finish_done, ctx);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

static int remove_secret(struct store_job *job, struct db *db, struct fail *f)
{
	const struct secret_info *i = &secret_job_of(job)->row.info;
	struct db_query q = { .sql = "DELETE FROM secrets WHERE tenant = $1 AND name = $2",
			      DB_PARAMS(db_text(i->tenant), db_text(i->name)) };
	if (db_exec(db, &q, f) < 0)
		return -1;
	/* On a retry, the first attempt may have committed although its connection broke. */
	if (q.changed || job->retried)
		return 0;
	return fail_set(f, FAIL_NOT_FOUND, "there is no secret '%.64s'", i->name);
}

struct store_job *store_secret_remove(struct store *s, const char *tenant, const char *name, store_done_fn fn,
				      void *ctx)
{
	struct secret_record row = { .info = { .tenant = tenant, .name = name } };
	struct secret_job *j = new_job(s, &row, remove_secret, finish_done, ctx);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

/* --- list and open ------------------------------------------------------------------------------------------------- */

static void take_row(void *ctx, const struct db_value *v, size_t n)
{
	struct store_job *job = ctx;
	*(struct secret_record *)job_row(job) = (struct secret_record){
		.info = { .name = column_text(job, &v[0]),
			  .tenant = column_text(job, &v[1]),
			  .hosts = column_text(job, &v[2]),
			  .header = column_text(job, &v[3]),
			  .query = column_text(job, &v[4]),
			  .basic = column_text(job, &v[5]),
			  .created_ms = column_int(&v[6]),
			  .changed_ms = column_int(&v[7]) },
		.sealed = n > 8 ? column_text(job, &v[8]) : NULL,
	};
}

static int select_secrets(struct store_job *job, struct db *db, struct fail *f)
{
	const struct secret_info *i = &secret_job_of(job)->row.info;
	struct db_query q = { .sql = "SELECT " COLUMNS " FROM secrets WHERE tenant = $1 ORDER BY name LIMIT $2",
			      DB_PARAMS(db_text(i->tenant), db_int(SECRETS_MAX)) };
	return job_select(job, db, q, take_row, f);
}

static void finish_list(struct store_job *job, const struct fail *f)
{
	struct secret_job *j = secret_job_of(job);
	j->fn(j->ctx, f ? NULL : job->rows, f ? 0 : job->n, f);
}

struct store_job *store_secrets(struct store *s, const char *tenant, store_secrets_fn fn, void *ctx)
{
	struct secret_record row = { .info = { .tenant = tenant } };
	struct secret_job *j = new_job(s, &row, select_secrets, finish_list, ctx);
	j->fn = fn;
	return job_submit(&j->base);
}

static bool is_listed(const char *names, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = names; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");
		if (n == length && memcmp(at, name, n) == 0)
			return true;
		at += n;
	}
	return false;
}

static int open_values(struct store_job *job, const char *names, struct fail *f)
{
	struct secret_record *rows = job->rows;
	size_t kept = 0;
	for (size_t i = 0; i < job->n; i++) {
		if (!is_listed(names, rows[i].info.name))
			continue;
		AUTO(freep) char *name = seal_name(&rows[i].info), *value = NULL;
		if (key_open(job->key, name, rows[i].sealed, &value, f) < 0)
			return fail_wrap(f, "the secret '%s' cannot be used", rows[i].info.name);
		rows[kept] = rows[i];
		rows[kept++].value = job_keep(job, value);
		wipe(value);
	}
	job->n = kept;
	return 0;
}

static int open_secrets(struct store_job *job, struct db *db, struct fail *f)
{
	const struct secret_info *i = &secret_job_of(job)->row.info;
	struct db_query q = { .sql = "SELECT " COLUMNS ", sealed FROM secrets WHERE tenant = $1 ORDER BY name LIMIT $2",
			      DB_PARAMS(db_text(i->tenant), db_int(SECRETS_MAX)) };
	return job_select(job, db, q, take_row, f) < 0 ? -1 : open_values(job, i->name, f);
}

struct store_job *store_secrets_open(struct store *s, const char *tenant, const char *names, store_secrets_fn fn,
				     void *ctx)
{
	struct secret_record row = { .info = { .tenant = tenant, .name = names } };
	struct secret_job *j = new_job(s, &row, open_secrets, finish_list, ctx);
	j->fn = fn;
	return job_submit(&j->base);
}

/* --- version ------------------------------------------------------------------------------------------------------- */

static int read_version(struct store_job *job, struct db *db, struct fail *f)
{
	struct secret_job *j = secret_job_of(job);
	uint64_t n, sum;
	/* The clocks of servers differ, so a change need not have the newest time. */
	struct db_query count = { .sql = "SELECT COUNT(*) FROM secrets" };
	struct db_query times = { .sql = "SELECT CAST(COALESCE(SUM(changed), 0) AS BIGINT) FROM secrets" };
	if (db_number(db, &count, &n, f) < 0 || db_number(db, &times, &sum, f) < 0)
		return -1;
	snprintf(j->version, sizeof(j->version), "%llu %llu", (unsigned long long)n, (unsigned long long)sum);
	return 0;
}

static void finish_version(struct store_job *job, const struct fail *f)
{
	struct secret_job *j = secret_job_of(job);
	j->text(j->ctx, f ? NULL : j->version, f);
}

struct store_job *store_secrets_version(struct store *s, store_text_fn fn, void *ctx)
{
	struct secret_job *j = new_job(s, &(struct secret_record){ 0 }, read_version, finish_version, ctx);
	j->text = fn;
	return job_submit(&j->base);
}
