#include "tests/unit/store-bench.h"
#include "tests/unit/scratch.h"

#include <libpq-fe.h>
#include <sqlite3.h>

#include "base/alloc.h"
#include "tests/unit/postgres-server.h"
#include "tests/unit/unit.h"

const char *bench_url;

int bench_start_postgres(void **state)
{
	bench_url = postgres_start();
	return 0;
}

int bench_end_postgres(void **state)
{
	postgres_end();
	return 0;
}

/* --- a store ----------------------------------------------------------------------------------------------------- */

/* Removes rows that earlier tests left in the shared database. */
static void empty_database(const char *url)
{
	PGconn *connection = PQconnectdb(url);
	PGresult *result = PQexec(connection, "SET client_min_messages = error; DROP SCHEMA IF EXISTS husk CASCADE");
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("cannot empty the database: %s", PQerrorMessage(connection));
	PQclear(result);
	PQfinish(connection);
}

void bench_init(struct bench *b)
{
	char dir[] = "/tmp/husk-test-store-XXXXXX";
	assert_non_null(mkdtemp(dir));
	*b = (struct bench){ .loop = loop_new(), .dir = xstrdup(dir) };
	b->config.state_dir = xasprintf("%s/state/husk", dir);
	b->config.database_url = bench_url ? xstrdup(bench_url) : NULL;
	if (bench_url)
		empty_database(bench_url);
	b->store = store_new(b->loop, &b->config);
}

void bench_release(struct bench *b)
{
	store_free(b->store);
	loop_run(b->loop);
	loop_free(b->loop);
	scratch_remove(b->dir);
	free(b->dir);
	free(b->config.state_dir);
	free(b->config.database_url);
	free(b->config.encryption_key);
}

void bench_restart(struct bench *b)
{
	store_free(b->store);
	loop_run(b->loop);
	b->store = store_new(b->loop, &b->config);
}

static void sqlite_sql(const char *path, const char *sql)
{
	sqlite3 *other = NULL;
	char *error = NULL;
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	sqlite3_busy_timeout(other, 10000);
	if (sqlite3_exec(other, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error);
	sqlite3_close(other);
}

static void postgres_sql(const char *url, const char *sql)
{
	PGconn *connection = PQconnectdb(url);
	AUTO(freep) char *all = xasprintf("SET search_path = husk; %s", sql);
	PGresult *result = PQexec(connection, all);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(connection));
	PQclear(result);
	PQfinish(connection);
}

void bench_sql(struct bench *b, const char *sql)
{
	AUTO(freep) char *path = xasprintf("%s/husk.db", b->config.state_dir);
	if (b->config.database_url)
		postgres_sql(b->config.database_url, sql);
	else
		sqlite_sql(path, sql);
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

void answer_release(struct answer *a)
{
	fail_release(&a->fail);
	strv_release(&a->strings);
	free(a->sessions);
	free(a->exports);
	free(a->executions);
	free(a->sets);
	*a = (struct answer){ 0 };
}

void assert_fine(const struct answer *a)
{
	if (a->fail.kind)
		fail_msg("the store: %s", a->fail.message);
}

void assert_fails(const struct answer *a, enum fail_kind kind, const char *words)
{
	assert_int_equal(a->fail.kind, kind);
	if (!strstr(a->fail.message, words))
		fail_msg("'%s' is not in: %s", words, a->fail.message);
}

static void begin(struct bench *b, struct answer *a)
{
	answer_release(a);
	a->loop = b->loop;
}

static void await(struct answer *a, struct store_job *job)
{
	assert_non_null(job);
	assert_false(a->done); /* the callback never runs inside the call */
	loop_run(a->loop);
	assert_true(a->done);
}

static void end(struct answer *a, const struct fail *f)
{
	assert_false(a->done);
	a->done = true;
	if (f)
		fail_copy(&a->fail, f);
	loop_stop(a->loop, 0);
}

static const char *keep(struct answer *a, const char *text)
{
	if (!text)
		return NULL;
	strv_add(&a->strings, text);
	return a->strings.v[a->strings.n - 1];
}

static void on_done(void *ctx, const struct fail *f)
{
	end(ctx, f);
}

void ask_identify(struct bench *b, struct answer *a)
{
	begin(b, a);
	await(a, store_identify(b->store, on_done, a));
}

/* --- sessions ---------------------------------------------------------------------------------------------------- */

static void keep_sessions(struct answer *a, const struct session_record *v, size_t n)
{
	a->n = n;
	a->sessions = xcalloc(n + 1, sizeof(*v));
	for (size_t i = 0; i < n; i++) {
		struct session_record *r = &a->sessions[i];
		*r = v[i];
		const char **texts[] = { &r->id,	 &r->thread, &r->runtime, &r->container, &r->image,  &r->owner,
					 &r->owner_host, &r->cause,  &r->limits,  &r->mark,	 &r->engine, &r->name };
		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			*texts[k] = keep(a, *texts[k]);
	}
}

static void on_sessions(void *ctx, const struct session_list *list, const struct fail *f)
{
	if (list)
		keep_sessions(ctx, list->v, list->n);
	end(ctx, f);
}

static void on_session(void *ctx, const struct session_record *found, const struct fail *f)
{
	if (found)
		keep_sessions(ctx, found, 1);
	end(ctx, f);
}

void ask_claim_warm(struct bench *b, struct answer *a, const struct session_record *row, const char *warm,
		    const struct claim_limits *limits)
{
	begin(b, a);
	await(a, store_session_claim(b->store, row, warm, limits, on_sessions, a));
}

void ask_claim(struct bench *b, struct answer *a, const struct session_record *row, const struct claim_limits *limits)
{
	ask_claim_warm(b, a, row, /* warm= */ NULL, limits);
}

void ask_stream(struct bench *b, struct answer *a, const char *id, const char *tenant, const char *owner)
{
	struct stream_record row = { .id = id, .tenant = tenant, .owner = owner };
	begin(b, a);
	await(a, store_stream_claim(b->store, &row, on_done, a));
}

void ask_limits(struct bench *b, struct answer *a, const char *tenant, const struct tenant_limits *limits)
{
	begin(b, a);
	await(a, store_tenant_set(b->store, tenant, limits, on_done, a));
}

void ask_drop(struct bench *b, struct answer *a, const char *id, const char *owner)
{
	begin(b, a);
	await(a, store_session_drop(b->store, id, owner, on_done, a));
}

void ask_update(struct bench *b, struct answer *a, const struct session_update *u)
{
	begin(b, a);
	await(a, store_session_update(b->store, u, on_done, a));
}

void ask_set_limits(struct bench *b, struct answer *a, const struct session_update *u, const char *limits)
{
	begin(b, a);
	await(a, store_session_set_limits(b->store, u, limits, on_done, a));
}

void ask_session(struct bench *b, struct answer *a, const char *id)
{
	begin(b, a);
	await(a, store_session_get(b->store, id, on_session, a));
}

void ask_sessions(struct bench *b, struct answer *a, const char *thread, bool all)
{
	begin(b, a);
	await(a, store_sessions(b->store, thread, all, on_sessions, a));
}

void ask_take_over(struct bench *b, struct answer *a, const struct take_over *t)
{
	begin(b, a);
	await(a, store_session_take_over(b->store, t, on_session, a));
}

/* --- executions -------------------------------------------------------------------------------------------------- */

static void on_executions(void *ctx, const struct execution_list *list, const struct fail *f)
{
	struct answer *a = ctx;
	a->n = list ? list->n : 0;
	a->executions = xcalloc(a->n + 1, sizeof(*list->v));
	for (size_t i = 0; i < a->n; i++) {
		a->executions[i] = list->v[i];
		a->executions[i].session = keep(a, list->v[i].session);
		a->executions[i].tool = keep(a, list->v[i].tool);
		a->executions[i].ending = keep(a, list->v[i].ending);
	}
	end(a, f);
}

void ask_executions(struct bench *b, struct answer *a, const char *session, uint64_t limit)
{
	begin(b, a);
	await(a, store_executions(b->store, session, /* before= */ 0, limit, on_executions, a));
}

/* --- exports ----------------------------------------------------------------------------------------------------- */

static void keep_exports(struct answer *a, const struct export_record *v, size_t n)
{
	a->n = n;
	a->exports = xcalloc(n + 1, sizeof(*v));
	for (size_t i = 0; i < n; i++) {
		struct export_record *r = &a->exports[i];
		*r = v[i];
		const char **texts[] = { &r->id,   &r->thread, &r->session, &r->path,
					 &r->name, &r->hash,   &r->mime,    &r->file };
		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			*texts[k] = keep(a, *texts[k]);
	}
}

static void on_export(void *ctx, const struct export_record *found, const struct fail *f)
{
	if (found)
		keep_exports(ctx, found, 1);
	end(ctx, f);
}

static void on_exports(void *ctx, const struct export_list *list, const struct fail *f)
{
	if (list)
		keep_exports(ctx, list->v, list->n);
	end(ctx, f);
}

void ask_export_add(struct bench *b, struct answer *a, const struct export_record *e)
{
	begin(b, a);
	await(a, store_export_add(b->store, e, NULL, NULL, on_done, a));
}

void ask_export_claim(struct bench *b, struct answer *a, const struct export_record *e, const char *content,
		      const struct export_limits *limits)
{
	begin(b, a);
	await(a, store_export_add(b->store, e, content, limits, on_done, a));
}

void ask_export_delete(struct bench *b, struct answer *a, const struct export_record *e, const char *content)
{
	begin(b, a);
	await(a, store_export_delete(b->store, e, content, on_done, a));
}

void ask_export_find(struct bench *b, struct answer *a, const char *thread, const char *session, const char *path)
{
	begin(b, a);
	await(a, store_export_find(b->store, thread, session, path, on_export, a));
}

void ask_export_get(struct bench *b, struct answer *a, const char *thread, const char *id)
{
	begin(b, a);
	await(a, store_export_get(b->store, thread, id, on_export, a));
}

void ask_exports(struct bench *b, struct answer *a, const char *thread, uint64_t created, const char *id,
		 uint64_t limit)
{
	begin(b, a);
	await(a, store_exports(b->store, thread, created, id, limit, on_exports, a));
}

/* --- dependency sets --------------------------------------------------------------------------------------------- */

static void keep_sets(struct answer *a, const struct set_record *v, size_t n)
{
	a->n = n;
	a->sets = xcalloc(n + 1, sizeof(*v));
	for (size_t i = 0; i < n; i++) {
		struct set_record *r = &a->sets[i];
		*r = v[i];
		const char **texts[] = { &r->key, &r->image, &r->runtime, &r->wanted, &r->versions, &r->builder };
		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			*texts[k] = keep(a, *texts[k]);
	}
}

static void on_set(void *ctx, const struct set_record *found, bool yours, const struct fail *f)
{
	struct answer *a = ctx;
	if (found)
		keep_sets(a, found, 1);
	a->yours = yours;
	end(a, f);
}

static void on_sets(void *ctx, const struct set_list *list, const struct fail *f)
{
	if (list)
		keep_sets(ctx, list->v, list->n);
	end(ctx, f);
}

void ask_set_claim(struct bench *b, struct answer *a, const struct set_record *row, uint64_t stale_before)
{
	begin(b, a);
	await(a, store_set_claim(b->store, row, stale_before, on_set, a));
}

void ask_set_built(struct bench *b, struct answer *a, const struct set_record *row)
{
	begin(b, a);
	await(a, store_set_built(b->store, row, on_done, a));
}

void ask_set_used(struct bench *b, struct answer *a, const char *key)
{
	begin(b, a);
	await(a, store_set_used(b->store, key, on_done, a));
}

void ask_set_remove(struct bench *b, struct answer *a, const char *key)
{
	begin(b, a);
	await(a, store_set_remove(b->store, key, on_done, a));
}

void ask_sets(struct bench *b, struct answer *a)
{
	begin(b, a);
	await(a, store_sets(b->store, on_sets, a));
}
