/* Exports. Each maps a file or folder of a session to its stored content. */
#include <errno.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/sizes.h"
#include "base/utf8.h"
#include "manager/store/chain.h"
#include "manager/store/store-private.h"

#define EXPORTS_MAX 1000

struct export_job {
	struct store_job base;
	struct export_record row; /* the row to add or to find */
	const char *content;	  /* path of the content; NULL = not checked */
	bool limited;
	struct export_limits limits;
	uint64_t limit;
	store_done_fn done;
	store_export_fn fn;
	store_exports_fn list;
	void *ctx;
};

/* --- paths: any bytes but NUL, kept as text ---------------------------------------------------------------------- */

/* '%' and bytes that are not UTF-8 become %XX, so each path has exactly one form, which can be decoded. */
static char *path_to_text(const char *path)
{
	AUTO(buf_release) struct buf out = { 0 };
	size_t n = strlen(path);
	for (size_t i = 0; i < n;) {
		size_t width = 1;
		while (width < 4 && i + width < n && !utf8_valid(path + i, width))
			width++;
		if (path[i] == '%' || !utf8_valid(path + i, width)) {
			buf_printf(&out, "%%%02X", (unsigned)(unsigned char)path[i]);
			i++;
		} else {
			buf_add(&out, path + i, width);
			i += width;
		}
	}
	return buf_steal_str(&out);
}

static int hex_value(char c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

static char *path_from_text(const char *text)
{
	char *path = xmalloc(strlen(text) + 1), *to = path;
	for (const char *p = text; *p; to++) {
		int high = *p == '%' ? hex_value(p[1]) : -1, low = high >= 0 ? hex_value(p[2]) : -1;
		bool escaped = low >= 0 && (high || low);
		*to = escaped ? (char)(high << 4 | low) : *p;
		p += escaped ? 3 : 1;
	}
	*to = '\0';
	return path;
}

static const char *keep_path_text(struct store_job *job, const char *path)
{
	AUTO(freep) char *text = path ? path_to_text(path) : NULL;
	return job_keep(job, text);
}

static const char *column_path(struct store_job *job, const struct db_value *v)
{
	AUTO(freep) char *path = v->kind == DB_TEXT ? path_from_text(v->text) : NULL;
	return job_keep(job, path);
}

/* --- add --------------------------------------------------------------------------------------------------------- */

/* Exports without a hash do not count: their content was deleted. */
#define SUM_OF(condition)                                                                                                         \
	"(SELECT CAST(COALESCE(SUM(most), 0) AS BIGINT) FROM (SELECT MAX(stored) AS most FROM exports WHERE hash <> ''" condition \
	" GROUP BY hash, file) AS kept)"

static void take_sums(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	*(struct export_limits *)ctx =
		(struct export_limits){ column_int(&v[0]), column_int(&v[1]), column_int(&v[2]) };
}

static int count(struct db *db, const char *thread, struct export_limits *ret, struct fail *f)
{
	struct db_query q = { .sql = "SELECT " SUM_OF(" AND thread = $1") ", " SUM_OF(
				      "") ", (SELECT COUNT(*) FROM exports WHERE hash <> '' AND thread = $1)",
			      .on_row = take_sums,
			      .ctx = ret,
			      DB_PARAMS(db_text(thread)) };
	return db_exec(db, &q, f);
}

/* The sum of a tenant's exports. Conversations of the tenant `local` have no common beginning. */
static int count_tenant(struct db *db, const char *tenant, uint64_t *ret, struct fail *f)
{
	AUTO(freep) char *like = xasprintf("@%s/%%", tenant);
	struct db_query q = { .sql = "SELECT " SUM_OF(" AND thread LIKE $1"), DB_PARAMS(db_text(like)) };
	return db_number(db, &q, ret, f);
}

static int hint_to_delete(struct fail *f)
{
	return fail_hint(
		f,
		"Exports must be deleted first: the user lists them with `husk exports` and deletes one with `husk exports --delete ID`.");
}

static int over(const char *whose, uint64_t was, uint64_t now, uint64_t limit, const char *setting, struct fail *f)
{
	char before[SIZES_TEXT], with[SIZES_TEXT], most[SIZES_TEXT];
	fail_set(f, FAIL_LIMIT, "the exports of %s take %s, with this one %s; the limit is %s (%s)", whose,
		 sizes_text(was, before), sizes_text(now, with), sizes_text(limit, most), setting);
	return hint_to_delete(f);
}

/* was: totals before the record; now: totals with it. */
static int check_limits(const struct export_limits *limits, const struct export_limits *was,
			const struct export_limits *now, struct fail *f)
{
	if (now->conversation > limits->conversation && now->conversation > was->conversation)
		return over("this conversation", was->conversation, now->conversation, limits->conversation,
			    "EXPORTS_MAX_SIZE_PER_CONVERSATION", f);
	if (limits->count && now->count > limits->count) {
		fail_set(f, FAIL_LIMIT,
			 "this conversation has %llu exports, which is the limit (EXPORTS_MAX_COUNT_PER_CONVERSATION)",
			 (unsigned long long)was->count);
		return hint_to_delete(f);
	}
	if (now->total > limits->total && now->total > was->total)
		return over("all conversations", was->total, now->total, limits->total, "EXPORTS_MAX_SIZE", f);
	return 0;
}

static void take_count(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	*(uint64_t *)ctx = column_int(&v[0]);
}

/* Call it in the exclusive transaction, so that no other export starts to use the content. */
static int remove_content(struct db *db, const struct export_job *j, const char *hash, struct fail *f)
{
	uint64_t others = 1;
	struct db_query q = {
		.sql = "SELECT COUNT(*) FROM exports WHERE hash = $1 AND id <> $2 AND (file = $3 OR file IS NULL OR $3 IS NULL)",
		.on_row = take_count,
		.ctx = &others,
		DB_PARAMS(db_text(hash), db_text(j->row.id), db_text(j->row.file))
	};
	if (db_exec(db, &q, f) < 0)
		return -1;
	if (others || !j->content)
		return 0;
	if (unlink(j->content) < 0 && errno != ENOENT)
		return fail_set(f, FAIL_STORE, "cannot delete '%s': %s", j->content, strerror(errno));
	AUTO(freep) char *folder = xstrndup(j->content, (size_t)(strrchr(j->content, '/') - j->content));
	(void)rmdir(folder);
	return 0;
}

static int write_record(struct db *db, struct export_job *j, struct fail *f);

static int add(struct store_job *job, struct db *db, struct fail *f)
{
	struct export_job *j = container_of(job, struct export_job, base);
	AUTO(freep) char *tenant = tenant_of(j->row.thread);
	struct export_limits was = { 0 }, now = { 0 };
	struct tenant_limits most = { 0 };
	uint64_t tenant_was = 0, tenant_now = 0;
	if (j->content && access(j->content, F_OK) < 0) {
		fail_set(f, FAIL_STORE, "the content of the export was deleted while it was being recorded");
		return fail_hint(f, "Export it again.");
	}
	if (j->limited && (count(db, j->row.thread, &was, f) < 0 || tenant_limits_read(db, tenant, &most, f) < 0 ||
			   (most.exports && count_tenant(db, tenant, &tenant_was, f) < 0)))
		return -1;
	if (write_record(db, j, f) < 0)
		return -1;
	if (!j->limited)
		return 0;
	if (count(db, j->row.thread, &now, f) < 0 || (most.exports && count_tenant(db, tenant, &tenant_now, f) < 0))
		return -1;
	if (most.exports && tenant_now > most.exports && tenant_now > tenant_was)
		over("this tenant", tenant_was, tenant_now, most.exports, "the operator sets it", f);
	else if (check_limits(&j->limits, &was, &now, f) == 0)
		return 0;
	AUTO(fail_release) struct fail ignored = { 0 };
	(void)remove_content(db, j, j->row.hash, &ignored);
	return -1;
}

static int write_record(struct db *db, struct export_job *j, struct fail *f)
{
	const struct export_record *e = &j->row;
	struct db_query thread = {
		.sql = "INSERT INTO threads (id, created, used) VALUES ($1, $2, $2) ON CONFLICT (id) DO UPDATE SET used = excluded.used",
		DB_PARAMS(db_text(e->thread), db_int(e->created))
	};
	/* If the id exists already, an earlier attempt committed this export although its connection broke. */
	struct db_query q = {
		.sql = "INSERT INTO exports (" EXPORT_COLUMNS
		       ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT (id) DO NOTHING RETURNING " EXPORT_COLUMNS,
		DB_PARAMS(db_text(e->id), db_text(e->thread), db_text(e->session), db_text(e->path), db_text(e->name),
			  db_int(e->directory), db_int(e->size), db_int(e->stored), db_text(e->hash), db_text(e->mime),
			  db_int(e->mode), db_int(e->mtime_ms), db_int(e->created), db_text(e->file))
	};
	AUTO(chain_release) struct chain chain = { .db = db, .key = j->base.key };
	if (chain_begin(&chain, store_now_ms(), f) < 0 || db_exec(db, &thread, f) < 0 ||
	    chain_exec(&chain, &q, e->session, CHAIN_EXPORT, 0, f) < 0)
		return -1;
	/* Do not acknowledge an export that was not recorded. */
	struct db_query there = { .sql = "SELECT COUNT(*) FROM exports WHERE id = $1", DB_PARAMS(db_text(e->id)) };
	uint64_t known = chain.written;
	if (!known && db_number(db, &there, &known, f) < 0)
		return -1;
	if (!known)
		return fail_set(f, FAIL_STORE, "the database did not store the record of an export");
	return chain_end(&chain, f);
}

static void finish_add(struct store_job *job, const struct fail *f)
{
	struct export_job *j = container_of(job, struct export_job, base);
	job_answer(j->done, j->ctx, "an export was not recorded", f);
}

static struct store_job *submit(struct store *s, struct export_job *j, const struct export_record *e,
				const char *content, store_done_fn fn, void *ctx)
{
	struct store_job *job = &j->base;
	j->row = *e;
	j->row.id = job_keep(job, e->id);
	j->row.thread = job_keep(job, e->thread);
	j->row.session = job_keep(job, e->session);
	j->row.path = keep_path_text(job, e->path);
	j->row.name = keep_path_text(job, e->name);
	j->row.hash = job_keep(job, e->hash);
	j->row.mime = job_keep(job, e->mime);
	j->row.file = job_keep(job, e->file);
	j->content = job_keep(job, content);
	j->done = fn;
	j->ctx = ctx;
	return job_submit_write(job, DB_DURABLE);
}

struct store_job *store_export_add(struct store *s, const struct export_record *e, const char *content,
				   const struct export_limits *limits, store_done_fn fn, void *ctx)
{
	struct export_job *j = job_new(s, sizeof(*j), add, finish_add);
	j->limited = limits != NULL;
	if (limits)
		j->limits = *limits;
	return submit(s, j, e, content, fn, ctx);
}

/* --- delete ------------------------------------------------------------------------------------------------------ */

static int forget(struct store_job *job, struct db *db, struct fail *f)
{
	struct export_job *j = container_of(job, struct export_job, base);
	struct db_query q = { .sql = "UPDATE exports SET hash = '', stored = 0 WHERE id = $1 RETURNING " EXPORT_COLUMNS,
			      DB_PARAMS(db_text(j->row.id)) };
	AUTO(chain_release) struct chain chain = { .db = db, .key = j->base.key };
	if (chain_begin(&chain, store_now_ms(), f) < 0 ||
	    chain_exec(&chain, &q, j->row.session, CHAIN_EXPORT, 0, f) < 0 || chain_end(&chain, f) < 0)
		return -1;
	return remove_content(db, j, j->row.hash, f);
}

static void finish_delete(struct store_job *job, const struct fail *f)
{
	struct export_job *j = container_of(job, struct export_job, base);
	job_answer(j->done, j->ctx, "an export was not deleted", f);
}

struct store_job *store_export_delete(struct store *s, const struct export_record *e, const char *content,
				      store_done_fn fn, void *ctx)
{
	struct export_job *j = job_new(s, sizeof(*j), forget, finish_delete);
	return submit(s, j, e, content, fn, ctx);
}

/* --- find -------------------------------------------------------------------------------------------------------- */

static void take_row(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct store_job *job = ctx;
	*(struct export_record *)job_row(job) = (struct export_record){
		.id = column_text(job, &v[0]),
		.thread = column_text(job, &v[1]),
		.session = column_text(job, &v[2]),
		.path = column_path(job, &v[3]),
		.name = column_path(job, &v[4]),
		.directory = column_int(&v[5]),
		.size = column_int(&v[6]),
		.stored = column_int(&v[7]),
		.hash = column_text(job, &v[8]),
		.mime = column_text(job, &v[9]),
		.mode = column_int(&v[10]),
		.mtime_ms = column_int(&v[11]),
		.created = column_int(&v[12]),
		.file = column_text(job, &v[13]),
	};
}

static int run_find(struct store_job *job, struct db *db, struct fail *f)
{
	struct export_job *j = container_of(job, struct export_job, base);
	return job_select(
		job, db,
		(struct db_query){
			.sql = "SELECT " EXPORT_COLUMNS
			       " FROM exports WHERE thread = $1 AND session = $2 AND hash <> '' AND (path = $3 OR (directory = 1 AND substr($3, 1, length(path) + 1) = path || '/')) "
			       "ORDER BY length(path) DESC, created DESC, id DESC LIMIT 1",
			DB_PARAMS(db_text(j->row.thread), db_text(j->row.session), db_text(j->row.path)) },
		take_row, f);
}

static int run_get(struct store_job *job, struct db *db, struct fail *f)
{
	struct export_job *j = container_of(job, struct export_job, base);
	return job_select(
		job, db,
		(struct db_query){ .sql = "SELECT " EXPORT_COLUMNS
					  " FROM exports WHERE (thread = $1 OR $1 IS NULL) AND id = $2 AND hash <> ''",
				   DB_PARAMS(db_text(j->row.thread), db_text(j->row.id)) },
		take_row, f);
}

static void finish_one(struct store_job *job, const struct fail *f)
{
	struct export_job *j = container_of(job, struct export_job, base);
	j->fn(j->ctx, !f && job->n ? job->rows : NULL, f);
}

static struct export_job *new_search(struct store *s, int (*run)(struct store_job *job, struct db *db, struct fail *f),
				     void (*finish)(struct store_job *job, const struct fail *f), void *ctx)
{
	struct export_job *j = job_new(s, sizeof(*j), run, finish);
	j->base.size = sizeof(struct export_record);
	j->ctx = ctx;
	return j;
}

struct store_job *store_export_find(struct store *s, const char *thread, const char *session, const char *path,
				    store_export_fn fn, void *ctx)
{
	struct export_job *j = new_search(s, run_find, finish_one, ctx);
	j->row.thread = job_keep(&j->base, thread);
	j->row.session = job_keep(&j->base, session);
	j->row.path = keep_path_text(&j->base, path);
	j->fn = fn;
	return job_submit(&j->base);
}

struct store_job *store_export_get(struct store *s, const char *thread, const char *id, store_export_fn fn, void *ctx)
{
	struct export_job *j = new_search(s, run_get, finish_one, ctx);
	j->row.thread = job_keep(&j->base, thread);
	j->row.id = job_keep(&j->base, id);
	j->fn = fn;
	return job_submit(&j->base);
}

/* --- list -------------------------------------------------------------------------------------------------------- */

static int run_list(struct store_job *job, struct db *db, struct fail *f)
{
	struct export_job *j = container_of(job, struct export_job, base);
	const struct export_record *at = &j->row;
	/* Without an id to continue from, start with the newest. */
	uint64_t before = at->id ? at->created : INT64_MAX;
	const char *id = at->id ? at->id : "";
	if (!at->thread)
		return job_select(
			job, db,
			(struct db_query){
				.sql = "SELECT " EXPORT_COLUMNS
				       " FROM exports WHERE hash <> '' AND (created < $1 OR (created = $1 AND id < $2)) ORDER BY created DESC, id DESC LIMIT $3",
				DB_PARAMS(db_int(before), db_text(id), db_int(j->limit)) },
			take_row, f);
	return job_select(
		job, db,
		(struct db_query){
			.sql = "SELECT " EXPORT_COLUMNS
			       " FROM exports WHERE thread = $4 AND hash <> '' AND (created < $1 OR (created = $1 AND id < $2)) ORDER BY created DESC, id DESC LIMIT $3",
			DB_PARAMS(db_int(before), db_text(id), db_int(j->limit), db_text(at->thread)) },
		take_row, f);
}

static void finish_list(struct store_job *job, const struct fail *f)
{
	struct export_job *j = container_of(job, struct export_job, base);
	struct export_list list = { .v = f ? NULL : job->rows, .n = f ? 0 : job->n };
	j->list(j->ctx, f ? NULL : &list, f);
}

struct store_job *store_exports(struct store *s, const char *thread, uint64_t before_created, const char *before_id,
				uint64_t limit, store_exports_fn fn, void *ctx)
{
	struct export_job *j = new_search(s, run_list, finish_list, ctx);
	j->row.thread = job_keep(&j->base, thread);
	j->row.id = job_keep(&j->base, before_id);
	j->row.created = before_created;
	j->limit = MIN(limit, EXPORTS_MAX);
	j->list = fn;
	return job_submit(&j->base);
}
