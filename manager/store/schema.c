/* The tables, as upgrade steps. Never change a released step; add a new one. Statements use only SQL that SQLite
 * and Postgres treat alike: BIGINT and TEXT, no sequences, no custom types. */
#include "base/alloc.h"
#include "manager/model/token.h"
#include "manager/store/db.h"

#define STEP_MAX 16

static const char *const steps[][STEP_MAX] = {
	{
		"CREATE TABLE threads (id TEXT PRIMARY KEY, created BIGINT NOT NULL, used BIGINT NOT NULL)",
		"CREATE TABLE sessions (id TEXT PRIMARY KEY, thread TEXT NOT NULL, runtime TEXT NOT NULL, container TEXT, "
		"image TEXT, owner TEXT NOT NULL, owner_host TEXT, owner_pid BIGINT NOT NULL, fence BIGINT NOT NULL, "
		"state TEXT NOT NULL, cause TEXT, limits TEXT, lease_until BIGINT NOT NULL, created BIGINT NOT NULL, "
		"used BIGINT NOT NULL, ends BIGINT NOT NULL, ended BIGINT NOT NULL, busy BIGINT NOT NULL)",
		"CREATE INDEX sessions_by_state ON sessions (state, lease_until)",
		"CREATE INDEX sessions_by_thread ON sessions (thread, created)",
		"CREATE INDEX sessions_by_time ON sessions (created)",
		"CREATE TABLE executions (session TEXT NOT NULL, seq BIGINT NOT NULL, tool TEXT NOT NULL, "
		"started BIGINT NOT NULL, ended BIGINT NOT NULL, ending TEXT, in_bytes BIGINT NOT NULL, out_bytes BIGINT NOT NULL, PRIMARY KEY (session, seq))",
		"CREATE TABLE exports (id TEXT PRIMARY KEY, thread TEXT NOT NULL, session TEXT NOT NULL, "
		"path TEXT NOT NULL, name TEXT NOT NULL, directory BIGINT NOT NULL, size BIGINT NOT NULL, "
		"stored BIGINT NOT NULL, hash TEXT NOT NULL, mime TEXT, mode BIGINT NOT NULL, mtime_ms BIGINT NOT NULL, created BIGINT NOT NULL)",
		"CREATE INDEX exports_by_session ON exports (thread, session, path)",
		"CREATE INDEX exports_by_thread ON exports (thread, created, id)",
		"CREATE INDEX exports_by_time ON exports (created, id)",
		"CREATE TABLE settings (name TEXT PRIMARY KEY, sealed TEXT NOT NULL)",
		"CREATE TABLE dependency_sets (key TEXT PRIMARY KEY, image TEXT, runtime TEXT NOT NULL, wanted TEXT NOT NULL, versions TEXT, unpinned BIGINT NOT NULL, size BIGINT NOT NULL, "
		"built BIGINT NOT NULL, used BIGINT NOT NULL, builder TEXT, builder_until BIGINT NOT NULL)",
	},
	{
		"CREATE TABLE store (id TEXT NOT NULL)",
	},
	{
		"ALTER TABLE executions ADD COLUMN env TEXT",
	},
	{
		"ALTER TABLE sessions ADD COLUMN transport TEXT",
	},
	{
		"CREATE TABLE chain (session TEXT NOT NULL, position BIGINT NOT NULL, kind TEXT NOT NULL, item TEXT NOT NULL, "
		"content TEXT NOT NULL, link TEXT NOT NULL, PRIMARY KEY (session, position))",
		"CREATE INDEX chain_by_item ON chain (session, kind, item, position)",
		"CREATE TABLE chain_heads (session TEXT PRIMARY KEY, position BIGINT NOT NULL, link TEXT NOT NULL, seal TEXT NOT NULL)",
		"CREATE TABLE chain_tombstones (session TEXT PRIMARY KEY, position BIGINT NOT NULL, link TEXT NOT NULL, "
		"pruned BIGINT NOT NULL, pruned_at BIGINT NOT NULL, seal TEXT NOT NULL)",
		"CREATE TABLE receipts (key TEXT PRIMARY KEY, image TEXT NOT NULL, engine TEXT NOT NULL, boot TEXT NOT NULL, "
		"result TEXT NOT NULL, created BIGINT NOT NULL)",
		"CREATE INDEX exports_of_session ON exports (session)",
		/* The head of the store's chain, which has no links yet. If this row is missing later, somebody
		 * removed it. */
		"INSERT INTO chain_heads (session, position, link, seal) VALUES ('', 0, '', '')",
	},
	{
		/* The file's name in the vault; older exports have none. */
		"ALTER TABLE exports ADD COLUMN file TEXT",
	},
	{
		/* Settings moved to a separate file (kept.h). */
		"DROP TABLE IF EXISTS settings",
	},
	{
		"CREATE TABLE tasks (id TEXT PRIMARY KEY, thread TEXT NOT NULL, session TEXT NOT NULL, seq BIGINT NOT NULL, tool TEXT NOT NULL, "
		"timeout BIGINT NOT NULL, state TEXT NOT NULL, started BIGINT NOT NULL, created BIGINT NOT NULL, changed BIGINT NOT NULL, "
		"expires BIGINT NOT NULL, result TEXT)",
		"CREATE INDEX tasks_by_session ON tasks (session, seq)",
		"CREATE INDEX tasks_by_end ON tasks (expires)",
	},
	{
		"CREATE TABLE cells (session TEXT NOT NULL, seq BIGINT NOT NULL, piece BIGINT NOT NULL, kind TEXT NOT NULL, "
		"mark TEXT NOT NULL, sealed TEXT NOT NULL, PRIMARY KEY (session, seq, piece), UNIQUE (session, seq, mark))",
	},
	{
		/* The label of the container, and a keyed hash of the columns that never change. Rows of older
		 * servers have neither. */
		"ALTER TABLE sessions ADD COLUMN mark TEXT",
		"ALTER TABLE sessions ADD COLUMN seal TEXT",
	},
	{
		/* The session's name in its conversation; not sealed. */
		"ALTER TABLE sessions ADD COLUMN name TEXT",
	},
	{
		"CREATE TABLE tenants (id TEXT PRIMARY KEY, sessions BIGINT NOT NULL, memory BIGINT NOT NULL, "
		"streams BIGINT NOT NULL, exports BIGINT NOT NULL, created BIGINT NOT NULL)",
		"CREATE TABLE keys (id TEXT PRIMARY KEY, name TEXT NOT NULL, tenant TEXT NOT NULL, scopes TEXT NOT NULL, "
		"conversation TEXT, created BIGINT NOT NULL, used BIGINT NOT NULL, hash TEXT NOT NULL)",
		/* The memory limit of a session, in bytes, for the limits of tenants. */
		"ALTER TABLE sessions ADD COLUMN memory BIGINT",
	},
	{
		/* The face that words a task's result; tasks of older servers have none. */
		"ALTER TABLE tasks ADD COLUMN face TEXT",
	},
	{
		/* Labels that programs give to sessions, as JSON. */
		"ALTER TABLE sessions ADD COLUMN labels TEXT",
	},
	{
		/* Answers to requests of the API with an Idempotency-Key. status 0 = the request is under way. */
		"CREATE TABLE answers (id TEXT PRIMARY KEY, request TEXT NOT NULL, attempt TEXT NOT NULL, status BIGINT NOT NULL, "
		"type TEXT, location TEXT, body TEXT, created BIGINT NOT NULL)",
		"CREATE INDEX answers_by_time ON answers (created)",
	},
};

/* Columns and tables that servers of earlier versions neither read nor write. They have a count of their own, so that
 * schema_version stays and those servers can still open the store. Statements must name the columns that they insert. */
static const char *const additions[] = {
	/* The engine of the session's container; NULL = docker. */
	"ALTER TABLE sessions ADD COLUMN engine TEXT",
	/* The value is sealed together with all other columns but the times. */
	"CREATE TABLE secrets (tenant TEXT NOT NULL, name TEXT NOT NULL, hosts TEXT NOT NULL, header TEXT, query TEXT, "
	"basic TEXT, created BIGINT NOT NULL, changed BIGINT NOT NULL, sealed TEXT NOT NULL, PRIMARY KEY (tenant, name))",
	/* Open streams of tenants that have a limit of them. */
	"CREATE TABLE streams (id TEXT PRIMARY KEY, tenant TEXT NOT NULL, owner TEXT NOT NULL, until BIGINT NOT NULL)",
};

static int set_version(struct db *db, uint64_t version, struct fail *f)
{
	struct db_query drop = { .sql = "DELETE FROM schema_version" };
	struct db_query add = { .sql = "INSERT INTO schema_version (version) VALUES ($1)", DB_PARAMS(db_int(version)) };
	return db_exec(db, &drop, f) < 0 ? -1 : db_exec(db, &add, f);
}

static int take_step(struct db *db, const char *const *step, struct fail *f)
{
	for (size_t i = 0; i < STEP_MAX && step[i]; i++) {
		struct db_query q = { .sql = step[i] };
		if (db_exec(db, &q, f) < 0)
			return -1;
	}
	return 0;
}

static void take_id(void *ctx, const struct db_value *columns, size_t n)
{
	char **id = ctx;
	if (n && columns[0].kind == DB_TEXT && !*id)
		*id = xstrdup(columns[0].text);
}

/* The first server inserts the id. The transaction is exclusive, so other servers find that id. */
static int identify(struct db *db, char **ret_id, struct fail *f)
{
	AUTO(freep) char *id = NULL;
	struct db_query query = { .sql = "SELECT id FROM store", .on_row = take_id, .ctx = &id };
	if (db_exec(db, &query, f) < 0)
		return -1;
	if (!id) {
		char token[TOKEN_SIZE];
		token_make(token);
		struct db_query add = { .sql = "INSERT INTO store (id) VALUES ($1)", DB_PARAMS(db_text(token)) };
		if (db_exec(db, &add, f) < 0)
			return -1;
		id = xstrdup(token);
	}
	free(*ret_id);
	*ret_id = take_ptr(id);
	return 0;
}

static int take_steps(struct db *db, uint64_t version, struct fail *f)
{
	for (uint64_t i = version; i < ARRAY_LEN(steps); i++)
		if (take_step(db, steps[i], f) < 0)
			return fail_wrap(f, "cannot bring the store to schema %llu", (unsigned long long)i + 1);
	return version < ARRAY_LEN(steps) ? set_version(db, ARRAY_LEN(steps), f) : 0;
}

static int add_columns(struct db *db, struct fail *f)
{
	struct db_query make = { .sql = "CREATE TABLE IF NOT EXISTS schema_additions (done BIGINT NOT NULL)" };
	struct db_query query = { .sql = "SELECT COUNT(*) FROM schema_additions" };
	uint64_t done;
	if (db_exec(db, &make, f) < 0 || db_number(db, &query, &done, f) < 0)
		return -1;
	for (uint64_t i = done; i < ARRAY_LEN(additions); i++) {
		struct db_query add = { .sql = additions[i] };
		struct db_query note = { .sql = "INSERT INTO schema_additions (done) VALUES ($1)",
					 DB_PARAMS(db_int(i + 1)) };
		if (db_exec(db, &add, f) < 0 || db_exec(db, &note, f) < 0)
			return fail_wrap(f, "cannot make addition %llu to the store", (unsigned long long)i + 1);
	}
	return 0;
}

static int migrate(struct db *db, void *ctx, struct fail *f)
{
	struct db_query make = { .sql = "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)" };
	struct db_query query = { .sql = "SELECT MAX(version) FROM schema_version" };
	uint64_t version;
	if (db_exec(db, &make, f) < 0 || db_number(db, &query, &version, f) < 0)
		return -1;
	if (version > ARRAY_LEN(steps)) {
		fail_set(f, FAIL_STORE,
			 "the store was created by a newer Husk: its schema is %llu, this one supports %zu",
			 (unsigned long long)version, ARRAY_LEN(steps));
		return fail_hint(f, "update Husk, or choose another store (XDG_STATE_HOME, DATABASE_URL)");
	}
	return take_steps(db, version, f) < 0 || add_columns(db, f) < 0 ? -1 : identify(db, ctx, f);
}

int schema_migrate(struct db *db, char **ret_id, struct fail *f)
{
	return db_transaction(db, DB_DURABLE, migrate, ret_id, f);
}
