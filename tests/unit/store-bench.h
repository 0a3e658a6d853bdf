/* A store to test: its loop, its settings, and calls that wait for their answer. The same tests run on both databases. */
#ifndef HUSK_TESTS_STORE_BENCH_H
#define HUSK_TESTS_STORE_BENCH_H

#include "base/fail.h"
#include "manager/store/store.h"

struct bench {
	struct loop *loop;
	struct config config;
	struct store *store;
	char *dir; /* a new folder; the state folder of the store is below it */
};

/* The database of later benches: NULL = SQLite, else a DATABASE_URL whose database is emptied for each bench. */
extern const char *bench_url;

/* Set-up and teardown of a group of tests on Postgres. */
int bench_start_postgres(void **state);
int bench_end_postgres(void **state);

void bench_init(struct bench *b);
/* Waits for pending work of the store, then removes the folder. */
void bench_release(struct bench *b);
/* Frees the store and opens another one, like a restarted server. */
void bench_restart(struct bench *b);
/* Runs statements on the database directly, without the store. */
void bench_sql(struct bench *b, const char *sql);

/* SQL that removes what came after version 4 of the schema. */
#define BENCH_DROP_AFTER_4                                                                                             \
	"DROP TABLE chain; DROP TABLE chain_heads; DROP TABLE chain_tombstones; DROP TABLE receipts; "                 \
	"DROP INDEX exports_of_session; ALTER TABLE exports DROP COLUMN file; DROP TABLE tasks; DROP TABLE cells; "    \
	"DROP TABLE answers; DROP TABLE keys; DROP TABLE tenants; ALTER TABLE sessions DROP COLUMN memory; "           \
	"ALTER TABLE sessions DROP COLUMN labels; ALTER TABLE sessions DROP COLUMN name; "                             \
	"ALTER TABLE sessions DROP COLUMN mark; ALTER TABLE sessions DROP COLUMN seal; "

/* The last answer; each call starts with an empty one. Strings are copies that live until the next call. */
struct answer {
	struct loop *loop;
	bool done;
	struct fail fail;
	struct strv strings;
	size_t n;
	struct session_record *sessions;
	struct export_record *exports;
	struct execution_record *executions;
	struct set_record *sets;
	bool yours;
};

void answer_release(struct answer *a);
void assert_fine(const struct answer *a);
void assert_fails(const struct answer *a, enum fail_kind kind, const char *words);

/* Each runs the loop until the answer is there. */
void ask_identify(struct bench *b, struct answer *a);
void ask_claim(struct bench *b, struct answer *a, const struct session_record *row, const struct claim_limits *limits);
/* Like ask_claim(), with the slot of a warm container. */
void ask_claim_warm(struct bench *b, struct answer *a, const struct session_record *row, const char *warm,
		    const struct claim_limits *limits);
void ask_stream(struct bench *b, struct answer *a, const char *id, const char *tenant, const char *owner);
void ask_limits(struct bench *b, struct answer *a, const char *tenant, const struct tenant_limits *limits);
void ask_drop(struct bench *b, struct answer *a, const char *id, const char *owner);
void ask_update(struct bench *b, struct answer *a, const struct session_update *u);
void ask_set_limits(struct bench *b, struct answer *a, const struct session_update *u, const char *limits);
void ask_session(struct bench *b, struct answer *a, const char *id);
void ask_sessions(struct bench *b, struct answer *a, const char *thread, bool all);
void ask_take_over(struct bench *b, struct answer *a, const struct take_over *t);
void ask_executions(struct bench *b, struct answer *a, const char *session, uint64_t limit);
void ask_export_add(struct bench *b, struct answer *a, const struct export_record *e);
void ask_export_claim(struct bench *b, struct answer *a, const struct export_record *e, const char *content,
		      const struct export_limits *limits);
void ask_export_delete(struct bench *b, struct answer *a, const struct export_record *e, const char *content);
void ask_export_find(struct bench *b, struct answer *a, const char *thread, const char *session, const char *path);
void ask_export_get(struct bench *b, struct answer *a, const char *thread, const char *id);
void ask_exports(struct bench *b, struct answer *a, const char *thread, uint64_t created, const char *id,
		 uint64_t limit);
void ask_set_claim(struct bench *b, struct answer *a, const struct set_record *row, uint64_t stale_before);
void ask_set_built(struct bench *b, struct answer *a, const struct set_record *row);
void ask_set_used(struct bench *b, struct answer *a, const char *key);
void ask_set_remove(struct bench *b, struct answer *a, const char *key);
void ask_sets(struct bench *b, struct answer *a);

#endif
