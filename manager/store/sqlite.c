/* The embedded database: one file in the state folder with a write-ahead log, shared by all servers of the user. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>

#include "base/alloc.h"
#include "base/dirs.h"
#include "base/loop.h"
#include "base/parse.h"
#include "manager/store/db.h"

#define COLUMNS_MAX 32
#define BUSY_STEP_MS 10
/* SQLite instructions between two checks of the deadline. */
#define PROGRESS_STEPS 100000
/* Prepared statements to cache, for the writes of each run. Each takes a few kilobytes. */
#define KEPT_MAX 16

struct kept {
	sqlite3_stmt *statement; /* sqlite3_sql() is the cache key */
	uint64_t used;
	bool busy;
};

struct sqlite {
	struct db db;
	sqlite3 *handle;
	char *path;
	enum db_durability durability;
	struct kept kept[KEPT_MAX];
	uint64_t uses;
};

static int damaged(const struct sqlite *s, struct fail *f, const char *why)
{
	fail_set(f, FAIL_STORE, "the database '%s' is damaged (%s)", s->path, why);
	return fail_hint(
		f,
		"stop all husk servers, then restore a copy, or save what can be read with: sqlite3 '%s' .recover; "
		"without either, move it and its -wal and -shm files away: Husk creates a new one, without earlier sessions and exports",
		s->path);
}

static int failed(struct sqlite *s, int code, struct fail *f)
{
	const char *why = s->handle ? sqlite3_errmsg(s->handle) : sqlite3_errstr(code);
	switch (code & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		s->db.broken = true;
		return damaged(s, f, why);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		fail_set(f, FAIL_STORE, "the database '%s' is locked by another process", s->path);
		return fail_hint(
			f,
			"try again; if that does not help, look for a stopped husk or sqlite3 process that has it open");
	case SQLITE_INTERRUPT:
		fail_set(f, FAIL_STORE, "the database '%s' took too long", s->path);
		return fail_hint(f, "try again; if that does not help, check the load and the disk of this machine");
	case SQLITE_FULL:
		fail_set(f, FAIL_STORE, "cannot write the database '%s': %s", s->path, why);
		return fail_hint(f, "free space on its disk");
	case SQLITE_IOERR:
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		s->db.broken = true;
		fail_set(f, FAIL_STORE, "cannot use the database '%s': %s", s->path, why);
		return fail_hint(
			f,
			"check the disk, and that the user who runs husk owns the folder of the file and can write to it; XDG_STATE_HOME chooses another folder");
	default:
		fail_set(f, FAIL_STORE, "the database '%s' failed: %s", s->path, why);
		return fail_hint(f, "run husk doctor");
	}
}

/* --- statements -------------------------------------------------------------------------------------------------- */

/* Pragmas and schema changes are not cached: some pragmas take effect while they are prepared, and schema changes
 * are needed only once. */
static bool is_worth_keeping(const char *sql)
{
	static const char *const verbs[] = { "SELECT ", "INSERT ", "UPDATE ", "DELETE ", "BEGIN ", "COMMIT" };
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strncmp(sql, verbs[i], strlen(verbs[i])) == 0)
			return true;
	return false;
}

/* The cache entry of a statement, or the entry to replace: empty or least recently used. NULL if the statement
 * cannot be cached. */
static struct kept *find_kept(struct sqlite *s, const char *sql)
{
	struct kept *oldest = NULL;
	if (!is_worth_keeping(sql))
		return NULL;
	for (size_t i = 0; i < KEPT_MAX; i++) {
		struct kept *k = &s->kept[i];
		if (k->statement && streq(sqlite3_sql(k->statement), sql))
			return k->busy ? NULL : k; /* a nested query with the same SQL is prepared separately */
		if (!k->busy && (!oldest || k->used < oldest->used))
			oldest = k;
	}
	return oldest;
}

/* Uses the cached statement if there is one, because parsing takes longer than executing. *ret_kept is NULL if the
 * statement is not cached. */
static int borrow(struct sqlite *s, const char *sql, sqlite3_stmt **ret, struct kept **ret_kept)
{
	struct kept *k = *ret_kept = find_kept(s, sql);
	if (!k)
		return sqlite3_prepare_v2(s->handle, sql, -1, ret, NULL);
	if (k->statement && !streq(sqlite3_sql(k->statement), sql)) {
		sqlite3_finalize(k->statement);
		k->statement = NULL;
	}
	int r = k->statement ? SQLITE_OK :
			       sqlite3_prepare_v3(s->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &k->statement, NULL);
	*ret = k->statement;
	k->used = ++s->uses;
	k->busy = true;
	return r;
}

static void give_back(sqlite3_stmt *statement, struct kept *k)
{
	if (!k) {
		sqlite3_finalize(statement);
		return;
	}
	k->busy = false;
	if (!statement) /* could not be prepared */
		return;
	/* Unbind the texts, since they belong to the caller. */
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
}

static void drop_kept(struct sqlite *s)
{
	for (size_t i = 0; i < KEPT_MAX; i++)
		sqlite3_finalize(s->kept[i].statement);
}

static int bind(sqlite3_stmt *statement, const struct db_query *q)
{
	for (int at = sqlite3_bind_parameter_count(statement), r = SQLITE_OK; at > 0; at--) {
		const char *name = sqlite3_bind_parameter_name(statement, at);
		uint64_t number = 0;
		if (!name || parse_u64(name + 1, &number) < 0 || !number || number > q->n)
			continue;
		const struct db_value *v = &q->params[number - 1];
		if (v->kind == DB_INT)
			r = sqlite3_bind_int64(statement, at, v->number);
		else if (v->kind == DB_TEXT)
			r = sqlite3_bind_text(statement, at, v->text, -1, SQLITE_STATIC);
		if (r != SQLITE_OK)
			return r;
	}
	return SQLITE_OK;
}

static void give_row(sqlite3_stmt *statement, const struct db_query *q)
{
	struct db_value columns[COLUMNS_MAX] = { 0 };
	size_t n = MIN((size_t)sqlite3_column_count(statement), COLUMNS_MAX);
	for (size_t i = 0; i < n; i++) {
		int type = sqlite3_column_type(statement, (int)i);
		if (type == SQLITE_INTEGER)
			columns[i] =
				(struct db_value){ .kind = DB_INT, .number = sqlite3_column_int64(statement, (int)i) };
		else if (type != SQLITE_NULL)
			columns[i] = db_text((const char *)sqlite3_column_text(statement, (int)i));
	}
	q->on_row(q->ctx, columns, n);
}

/* Returns SQLite's result; DONE is success. *ret_rows: the number of rows. */
static int step_through(struct sqlite *s, const struct db_query *q, size_t *ret_rows)
{
	sqlite3_stmt *statement = NULL;
	struct kept *kept;
	int r = borrow(s, q->sql, &statement, &kept);
	if (r == SQLITE_OK)
		r = bind(statement, q);
	while (r == SQLITE_OK || r == SQLITE_ROW) {
		r = sqlite3_step(statement);
		if (r == SQLITE_ROW && q->on_row) {
			give_row(statement, q);
			++*ret_rows;
		}
	}
	give_back(statement, kept);
	return r;
}

static int sqlite_exec(struct db *db, struct db_query *q, struct fail *f)
{
	struct sqlite *s = container_of(db, struct sqlite, db);
	for (;;) {
		size_t rows = 0;
		int r = step_through(s, q, &rows);
		if (r == SQLITE_DONE) {
			q->changed = (uint64_t)sqlite3_changes(s->handle);
			return 0;
		}
		/* When two processes wait for each other, for example while the write-ahead log is created or
		 * recovered, SQLite does not call our busy handler. */
		if ((r & 0xff) != SQLITE_BUSY || rows || !db_time_left(db))
			return failed(s, r, f);
		sqlite3_sleep(BUSY_STEP_MS);
	}
}

static int run(struct sqlite *s, const char *sql, struct fail *f)
{
	struct db_query q = { .sql = sql };
	return sqlite_exec(&s->db, &q, f);
}

/* If the file was moved or deleted, everything written now would be lost when our last descriptor closes. */
static int check_place(struct sqlite *s, struct fail *f)
{
	int moved = 0;
	if (sqlite3_file_control(s->handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK || !moved)
		return 0;
	s->db.broken = true;
	fail_set(f, FAIL_STORE, "the database '%s' was moved while it was in use", s->path);
	return fail_hint(f, "move it back, or try again: Husk creates a new one");
}

static int sqlite_begin(struct db *db, enum db_durability durability, struct fail *f)
{
	struct sqlite *s = container_of(db, struct sqlite, db);
	if (check_place(s, f) < 0)
		return -1;
	if (durability != s->durability &&
	    run(s, durability == DB_DURABLE ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", f) < 0)
		return -1;
	s->durability = durability;
	return run(s, "BEGIN IMMEDIATE", f);
}

static int sqlite_commit(struct db *db, struct fail *f)
{
	struct sqlite *s = container_of(db, struct sqlite, db);
	if (run(s, "COMMIT", f) < 0)
		return -1;
	return s->durability == DB_DURABLE ? check_place(s, f) : 0;
}

static void sqlite_rollback(struct db *db)
{
	struct sqlite *s = container_of(db, struct sqlite, db);
	AUTO(fail_release) struct fail f = { 0 };
	if (!sqlite3_get_autocommit(s->handle) && run(s, "ROLLBACK", &f) < 0)
		db->broken = true;
}

static void sqlite_close(struct db *db)
{
	struct sqlite *s = container_of(db, struct sqlite, db);
	drop_kept(s);
	sqlite3_close_v2(s->handle);
	free(s->path);
	free(s);
}

/* ON CONFLICT IGNORE in a constraint can drop rows, as a trigger can. */
#define STRANGERS                                                                                                      \
	"SELECT type, name FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN (" DB_TABLES                      \
	") UNION ALL SELECT type, name FROM sqlite_master WHERE type = 'view' AND name IN (" DB_TABLES                 \
	") UNION ALL SELECT 'constraint', name FROM sqlite_master WHERE type = 'table' AND name IN (" DB_TABLES        \
	") AND sql LIKE '%ON CONFLICT%' ORDER BY 1, 2"

static const struct db_ops sqlite_ops = {
	.strangers = STRANGERS,
	.exec = sqlite_exec,
	.begin = sqlite_begin,
	.commit = sqlite_commit,
	.rollback = sqlite_rollback,
	.close = sqlite_close,
};

/* --- opening ----------------------------------------------------------------------------------------------------- */

static int on_busy(void *ctx, int count UNUSED)
{
	struct sqlite *s = ctx;
	if (!db_time_left(&s->db))
		return 0;
	sqlite3_sleep(BUSY_STEP_MS);
	return 1;
}

static int on_progress(void *ctx)
{
	struct sqlite *s = ctx;
	return db_time_left(&s->db) == 0;
}

/* Only the process that creates the file opens it outside SQLite, because closing a descriptor of the file drops all
 * locks that the process holds on it. */
static int make_file(const char *path, struct fail *f)
{
	AUTO(freep) char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	int r = dirs_make(dir);
	AUTO(closep) int fd = r < 0 ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (r == 0 && fd < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0)
		return 0;
	fail_set(f, FAIL_STORE, "cannot create the database '%s': %s", path, strerror(-r));
	return fail_hint(f,
			 "make its folder writable for the user who runs husk, or choose another with XDG_STATE_HOME");
}

static int prepare(struct sqlite *s, struct fail *f)
{
	sqlite3_busy_handler(s->handle, on_busy, s);
	sqlite3_progress_handler(s->handle, PROGRESS_STEPS, on_progress, s);
	sqlite3_extended_result_codes(s->handle, 1);
	/* Another program may have written the file: do not trust SQL in its schema. */
	sqlite3_db_config(s->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
	sqlite3_db_config(s->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
	s->durability = DB_DURABLE;
	/* The log is mostly appended to and rarely read, so cache half a megabyte of pages instead of two. */
	if (run(s, "PRAGMA cache_size=-512", f) < 0 || run(s, "PRAGMA journal_mode=WAL", f) < 0 ||
	    run(s, "PRAGMA synchronous=FULL", f) < 0 || run(s, "PRAGMA cell_size_check=ON", f) < 0 ||
	    run(s, "PRAGMA journal_size_limit=8388608", f) < 0)
		return -1;
	return 0;
}

int sqlite_open(struct db **ret, const struct db_place *place, uint64_t deadline_ms, struct fail *f)
{
	if (make_file(place->path, f) < 0)
		return -1;
	struct sqlite *s = new0(struct sqlite);
	s->db.ops = &sqlite_ops;
	s->db.deadline_ms = deadline_ms;
	s->path = xstrdup(place->path);
	int r = sqlite3_open_v2(s->path, &s->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
				NULL);
	if (r != SQLITE_OK)
		failed(s, r, f);
	if (r != SQLITE_OK || prepare(s, f) < 0) {
		sqlite_close(&s->db);
		return -1;
	}
	*ret = &s->db;
	return 0;
}
