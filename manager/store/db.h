/* One connection to a database: SQL with $1 … placeholders, exclusive transactions, and a deadline on everything.
 * Blocks, so it is used only on the thread pool, by one thread at a time. Two adapters: sqlite.c and postgres.c.
 *
 * Every failure is FAIL_STORE with a sentence that names what to check and never contains a secret. */
#ifndef HUSK_MANAGER_STORE_DB_H
#define HUSK_MANAGER_STORE_DB_H

#include "base/fail.h"

/* All columns are BIGINT or TEXT, which both databases treat alike. */
struct db_value {
	enum { DB_NULL, DB_INT, DB_TEXT } kind;
	int64_t number;
	const char *text;
};

static inline struct db_value db_text(const char *text)
{
	return (struct db_value){ .kind = text ? DB_TEXT : DB_NULL, .text = text };
}

static inline struct db_value db_int(uint64_t number)
{
	return (struct db_value){ .kind = DB_INT, .number = number > INT64_MAX ? INT64_MAX : (int64_t)number };
}

/* A column as a number; 0 if it is not a positive number. */
static inline uint64_t column_int(const struct db_value *v)
{
	return v->kind == DB_INT && v->number > 0 ? (uint64_t)v->number : 0;
}

/* Called for each row; the values are valid during the call. */
typedef void (*db_row_fn)(void *ctx, const struct db_value *columns, size_t n);

struct db_query {
	const char *sql;
	const struct db_value *params;
	size_t n;
	db_row_fn on_row; /* NULL = ignore rows */
	void *ctx;
	uint64_t changed; /* out: rows inserted, updated or deleted */
};

enum db_durability {
	DB_DURABLE, /* on disk when the commit returns */
	DB_RELAXED, /* may be lost in a power failure, never torn */
};

struct db;

struct db_ops {
	/* SQL that returns (kind, name) of each object that schema.c did not create and that may change or drop what
	 * is written to the tables. */
	const char *strangers;
	int (*exec)(struct db *db, struct db_query *q, struct fail *f);
	/* Waits until the current writer has finished. Until the commit, no other connection of any server can
	 * write. */
	int (*begin)(struct db *db, enum db_durability durability, struct fail *f);
	int (*commit)(struct db *db, struct fail *f);
	/* Also called after a failed begin or commit. */
	void (*rollback)(struct db *db);
	void (*close)(struct db *db);
};

struct db {
	const struct db_ops *ops;
	uint64_t deadline_ms; /* on the clock of loop_now_ms(); no operation continues past it */
	bool broken;	      /* the connection is unusable: close it and open another */
};

/* Where the database is. Owns copies of the settings, because a stuck thread may outlive their source. */
struct db_place {
	bool postgres;
	char *path; /* SQLite */
	char *url;  /* Postgres: DATABASE_URL, or NULL and the fields below */
	char *user, *password, *name, *host;
	char *port;
};

/* 0 with *ret, or -1 with f. SQLite creates its folder and file. */
int sqlite_open(struct db **ret, const struct db_place *place, uint64_t deadline_ms, struct fail *f);
int postgres_open(struct db **ret, const struct db_place *place, uint64_t deadline_ms, struct fail *f);
/* "Postgres at HOST:PORT (DATABASE_URL)"; makes no connection. The caller owns it. */
char *postgres_describe(const struct db_place *place);

/* For db_ops.strangers: all tables of schema.c, as SQL strings. */
#define DB_TABLES                                                                                                      \
	"'threads', 'sessions', 'executions', 'exports', 'dependency_sets', 'store', 'chain', 'chain_heads', "         \
	"'chain_tombstones', 'receipts', 'tasks', 'cells', 'tenants', 'keys', 'schema_version'"

/* Shared by both adapters (db.c). */
int db_exec(struct db *db, struct db_query *q, struct fail *f);
#define DB_PARAMS(...)                                                                                                 \
	.params = (const struct db_value[]){ __VA_ARGS__ },                                                            \
	.n = sizeof((const struct db_value[]){ __VA_ARGS__ }) / sizeof(struct db_value)
/* Calls body between begin and commit; rolls back if it fails. */
int db_transaction(struct db *db, enum db_durability durability, int (*body)(struct db *db, void *ctx, struct fail *f),
		   void *ctx, struct fail *f);
/* Milliseconds until the deadline; 0 = reached. */
uint64_t db_time_left(const struct db *db);
/* The first column of the first row as a number; 0 if there is no row. */
int db_number(struct db *db, struct db_query *q, uint64_t *ret, struct fail *f);

/* Upgrades the tables to what this program needs, in one transaction, so servers that start together do it once
 * (schema.c). On success *ret_id, which must be NULL or heap memory, is replaced by the store's id; the caller
 * owns it. */
int schema_migrate(struct db *db, char **ret_id, struct fail *f);

#endif
