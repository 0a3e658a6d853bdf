/* Keys of the API and the limits of their tenants. The stored hash covers the secret and everything that the key
 * grants, under the store's own key: a program that can write to the database can neither add a key nor widen one. */
#include "base/alloc.h"
#include "manager/model/token.h"
#include "manager/store/chain.h"
#include "manager/store/store-private.h"

#define COLUMNS "id, name, tenant, scopes, conversation, created, used"
#define KEYS_OF_TENANT_MAX 1000
#define KEYS_LISTED_MAX 20000
/* The time of the last use is written at most this often. */
#define USED_MS 60000

struct key_job {
	struct store_job base;
	struct key_record row;
	const char *text; /* the key itself; wiped with the job */
	bool valid;
	store_done_fn done;
	store_key_fn fn;
	store_keys_fn list;
	void *ctx;
};

static struct key_job *key_job_of(struct store_job *job)
{
	return container_of(job, struct key_job, base);
}

static struct key_job *new_job(struct store *s, const struct key_record *row, const char *text,
			       int (*run)(struct store_job *job, struct db *db, struct fail *f),
			       void (*finish)(struct store_job *job, const struct fail *f), void *ctx)
{
	struct key_job *j = job_new(s, sizeof(*j), run, finish);
	j->base.size = sizeof(struct key_record);
	j->row = *row;
	j->row.id = job_keep(&j->base, row->id);
	j->row.name = job_keep(&j->base, row->name);
	j->row.tenant = job_keep(&j->base, row->tenant);
	j->row.scopes = job_keep(&j->base, row->scopes);
	j->row.conversation = job_keep(&j->base, row->conversation);
	j->text = job_keep(&j->base, text);
	j->ctx = ctx;
	return j;
}

static void take_row(void *ctx, const struct db_value *v, size_t n)
{
	struct store_job *job = ctx;
	*(struct key_record *)job_row(job) = (struct key_record){
		.id = column_text(job, &v[0]),
		.name = column_text(job, &v[1]),
		.tenant = column_text(job, &v[2]),
		.scopes = column_text(job, &v[3]),
		.conversation = column_text(job, &v[4]),
		.created = column_int(&v[5]),
		.used = column_int(&v[6]),
		.hash = n > 7 ? column_text(job, &v[7]) : NULL,
	};
}

static int hash_key(struct key *key, const struct key_record *r, const char *text, char ret[KEY_HASH_SIZE],
		    struct fail *f)
{
	const struct db_value v[] = { db_text(r->id),		db_text(r->tenant), db_text(r->scopes),
				      db_text(r->conversation), db_int(r->created), db_text(text) };
	return chain_hash(key, "api key", v, ARRAY_LEN(v), ret, f);
}

static void finish_done(struct store_job *job, const struct fail *f)
{
	struct key_job *j = key_job_of(job);
	job_answer(j->done, j->ctx, "a key was not stored", f);
}

/* --- add and remove ------------------------------------------------------------------------------------------------ */

static int add(struct store_job *job, struct db *db, struct fail *f)
{
	struct key_job *j = key_job_of(job);
	const struct key_record *r = &j->row;
	char hash[KEY_HASH_SIZE];
	uint64_t taken, all;
	struct db_query same = { .sql = "SELECT COUNT(*) FROM keys WHERE tenant = $1 AND name = $2 AND id <> $3",
				 DB_PARAMS(db_text(r->tenant), db_text(r->name), db_text(r->id)) };
	struct db_query count = { .sql = "SELECT COUNT(*) FROM keys WHERE tenant = $1", DB_PARAMS(db_text(r->tenant)) };
	if (hash_key(job->key, r, j->text, hash, f) < 0 || db_number(db, &same, &taken, f) < 0 ||
	    db_number(db, &count, &all, f) < 0)
		return -1;
	if (taken)
		return fail_set(f, FAIL_INVALID, "there is already a key '%s'", r->name);
	if (all >= KEYS_OF_TENANT_MAX)
		return fail_set(f, FAIL_LIMIT, "the tenant already has %d keys; remove some first", KEYS_OF_TENANT_MAX);
	struct db_query q = { .sql = "INSERT INTO keys (" COLUMNS
				     ", hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING",
			      DB_PARAMS(db_text(r->id), db_text(r->name), db_text(r->tenant), db_text(r->scopes),
					db_text(r->conversation), db_int(r->created), db_int(0), db_text(hash)) };
	return db_exec(db, &q, f);
}

struct store_job *store_key_add(struct store *s, const struct key_record *row, const char *text, store_done_fn fn,
				void *ctx)
{
	struct key_job *j = new_job(s, row, text, add, finish_done, ctx);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

#define OF_TENANT " AND ($2 = 1 OR tenant = $3)"

/* An id takes precedence over a name, and a name removes one key: tenants choose their names themselves. */
static int remove_key(struct store_job *job, struct db *db, struct fail *f)
{
	struct key_job *j = key_job_of(job);
	const struct key_record *r = &j->row;
	uint64_t named;
	struct db_query by_id = { .sql = "DELETE FROM keys WHERE id = $1" OF_TENANT,
				  DB_PARAMS(db_text(r->id), db_int(!r->tenant), db_text(r->tenant)) };
	struct db_query count = { .sql = "SELECT COUNT(*) FROM keys WHERE name = $1" OF_TENANT,
				  DB_PARAMS(db_text(r->id), db_int(!r->tenant), db_text(r->tenant)) };
	struct db_query by_name = { .sql = "DELETE FROM keys WHERE name = $1" OF_TENANT,
				    DB_PARAMS(db_text(r->id), db_int(!r->tenant), db_text(r->tenant)) };
	if (db_exec(db, &by_id, f) < 0)
		return -1;
	if (by_id.changed)
		return 0;
	if (db_number(db, &count, &named, f) < 0)
		return -1;
	/* On a retry, the first attempt may have committed although its connection broke. */
	if (!named && job->retried)
		return 0;
	if (!named)
		return fail_set(f, FAIL_NOT_FOUND, "there is no key '%.64s'", r->id);
	if (named == 1)
		return db_exec(db, &by_name, f);
	fail_set(f, FAIL_INVALID, "%llu tenants have a key '%.64s'", (unsigned long long)named, r->id);
	return fail_hint(f, "Name the tenant, or use the id of the key.");
}

struct store_job *store_key_remove(struct store *s, const char *tenant, const char *word, store_done_fn fn, void *ctx)
{
	struct key_job *j =
		new_job(s, &(struct key_record){ .id = word, .tenant = tenant }, NULL, remove_key, finish_done, ctx);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

/* --- check and list ------------------------------------------------------------------------------------------------ */

/* A key stays valid while nothing can be written, such as with a full disk. */
static void note_use(struct db *db, const struct key_record *row)
{
	AUTO(fail_release) struct fail ignored = { 0 };
	uint64_t now = store_now_ms();
	struct db_query q = { .sql = "UPDATE keys SET used = $2 WHERE id = $1",
			      DB_PARAMS(db_text(row->id), db_int(now)) };
	if (now - MIN(now, row->used) >= USED_MS)
		(void)db_exec(db, &q, &ignored);
}

/* An unknown id takes the same time as a wrong secret: both compute one hash. */
static int check(struct store_job *job, struct db *db, struct fail *f)
{
	struct key_job *j = key_job_of(job);
	char hash[KEY_HASH_SIZE];
	struct db_query q = { .sql = "SELECT " COLUMNS ", hash FROM keys WHERE id = $1",
			      DB_PARAMS(db_text(j->row.id)) };
	j->valid = false;
	if (job_select(job, db, q, take_row, f) < 0)
		return -1;
	struct key_record none = { .id = j->row.id, .tenant = "", .scopes = "" };
	struct key_record *found = job->n ? job->rows : &none;
	if (hash_key(job->key, found, j->text, hash, f) < 0)
		return -1;
	j->valid = token_equal(hash, found->hash ? found->hash : "");
	if (!j->valid)
		return 0;
	struct tenant_limits limits;
	if (tenant_limits_read(db, found->tenant, &limits, f) < 0)
		return -1;
	found->streams = limits.streams;
	note_use(db, found);
	return 0;
}

static void finish_check(struct store_job *job, const struct fail *f)
{
	struct key_job *j = key_job_of(job);
	j->fn(j->ctx, !f && j->valid ? job->rows : NULL, f);
}

struct store_job *store_key_check(struct store *s, const char *id, const char *text, store_key_fn fn, void *ctx)
{
	struct key_job *j = new_job(s, &(struct key_record){ .id = id }, text, check, finish_check, ctx);
	j->fn = fn;
	return job_submit(&j->base);
}

static int select_keys(struct store_job *job, struct db *db, struct fail *f)
{
	struct key_job *j = key_job_of(job);
	struct db_query q = { .sql = "SELECT " COLUMNS
				     " FROM keys WHERE ($1 = 1 OR tenant = $2) ORDER BY created, id LIMIT $3",
			      DB_PARAMS(db_int(!j->row.tenant), db_text(j->row.tenant), db_int(KEYS_LISTED_MAX)) };
	return job_select(job, db, q, take_row, f);
}

static void finish_list(struct store_job *job, const struct fail *f)
{
	struct key_job *j = key_job_of(job);
	j->list(j->ctx, f ? NULL : job->rows, f ? 0 : job->n, f);
}

struct store_job *store_keys(struct store *s, const char *tenant, store_keys_fn fn, void *ctx)
{
	struct key_job *j = new_job(s, &(struct key_record){ .tenant = tenant }, NULL, select_keys, finish_list, ctx);
	j->list = fn;
	return job_submit(&j->base);
}

/* --- tenants ------------------------------------------------------------------------------------------------------- */

struct tenant_job {
	struct store_job base;
	const char *tenant;
	struct tenant_limits limits;
	store_done_fn done;
	store_tenant_fn fn;
	void *ctx;
};

static struct tenant_job *tenant_job_of(struct store_job *job)
{
	return container_of(job, struct tenant_job, base);
}

static int set_tenant(struct store_job *job, struct db *db, struct fail *f)
{
	struct tenant_job *j = tenant_job_of(job);
	const struct tenant_limits *l = &j->limits;
	struct db_query q = {
		.sql = "INSERT INTO tenants (id, sessions, memory, streams, exports, created) VALUES ($1, $2, $3, $4, $5, $6) "
		       "ON CONFLICT (id) DO UPDATE SET "
		       "sessions = CASE WHEN excluded.sessions > 0 THEN excluded.sessions ELSE tenants.sessions END, "
		       "memory = CASE WHEN excluded.memory > 0 THEN excluded.memory ELSE tenants.memory END, "
		       "streams = CASE WHEN excluded.streams > 0 THEN excluded.streams ELSE tenants.streams END, "
		       "exports = CASE WHEN excluded.exports > 0 THEN excluded.exports ELSE tenants.exports END",
		DB_PARAMS(db_text(j->tenant), db_int(l->sessions), db_int(l->memory), db_int(l->streams),
			  db_int(l->exports), db_int(store_now_ms()))
	};
	return db_exec(db, &q, f);
}

static void finish_set(struct store_job *job, const struct fail *f)
{
	struct tenant_job *j = tenant_job_of(job);
	job_answer(j->done, j->ctx, "the limits of a tenant were not stored", f);
}

struct store_job *store_tenant_set(struct store *s, const char *tenant, const struct tenant_limits *limits,
				   store_done_fn fn, void *ctx)
{
	struct tenant_job *j = job_new(s, sizeof(*j), set_tenant, finish_set);
	j->tenant = job_keep(&j->base, tenant);
	j->limits = *limits;
	j->done = fn;
	j->ctx = ctx;
	return job_submit_write(&j->base, DB_DURABLE);
}

static void take_limits(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	*(struct tenant_limits *)ctx = (struct tenant_limits){ .sessions = column_int(&v[0]),
							       .memory = column_int(&v[1]),
							       .streams = column_int(&v[2]),
							       .exports = column_int(&v[3]) };
}

int tenant_limits_read(struct db *db, const char *tenant, struct tenant_limits *ret, struct fail *f)
{
	struct db_query q = { .sql = "SELECT sessions, memory, streams, exports FROM tenants WHERE id = $1",
			      DB_PARAMS(db_text(tenant)),
			      .on_row = take_limits,
			      .ctx = ret };
	*ret = (struct tenant_limits){ 0 };
	return db_exec(db, &q, f);
}

static int get_tenant(struct store_job *job, struct db *db, struct fail *f)
{
	struct tenant_job *j = tenant_job_of(job);
	return tenant_limits_read(db, j->tenant, &j->limits, f);
}

static void finish_get(struct store_job *job, const struct fail *f)
{
	struct tenant_job *j = tenant_job_of(job);
	j->fn(j->ctx, f ? NULL : &j->limits, f);
}

struct store_job *store_tenant_get(struct store *s, const char *tenant, store_tenant_fn fn, void *ctx)
{
	struct tenant_job *j = job_new(s, sizeof(*j), get_tenant, finish_get);
	j->tenant = job_keep(&j->base, tenant);
	j->fn = fn;
	j->ctx = ctx;
	return job_submit(&j->base);
}

/* --- derived keys -------------------------------------------------------------------------------------------------- */

struct derive_job {
	struct store_job base;
	const char *purpose;
	char text[KEY_HASH_SIZE];
	store_text_fn fn;
	void *ctx;
};

static struct derive_job *derive_job_of(struct store_job *job)
{
	return container_of(job, struct derive_job, base);
}

static int derive(struct store_job *job, struct db *db UNUSED, struct fail *f)
{
	struct derive_job *j = derive_job_of(job);
	AUTO(freep) char *name = xasprintf("derived key: %s", j->purpose);
	return key_hash(job->key, name, strlen(name), j->text, f);
}

static void finish_derive(struct store_job *job, const struct fail *f)
{
	struct derive_job *j = derive_job_of(job);
	j->fn(j->ctx, f ? NULL : j->text, f);
}

static void release_derive(struct store_job *job)
{
	explicit_bzero(derive_job_of(job)->text, KEY_HASH_SIZE);
}

struct store_job *store_derive_key(struct store *s, const char *purpose, store_text_fn fn, void *ctx)
{
	struct derive_job *j = job_new(s, sizeof(*j), derive, finish_derive);
	j->purpose = job_keep(&j->base, purpose);
	j->base.release = release_derive;
	j->fn = fn;
	j->ctx = ctx;
	return job_submit(&j->base);
}
