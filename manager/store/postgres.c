/* Postgres, for servers that share a store. libpq is used without blocking, so a stopped server or a dead network
 * delays a job only until its deadline. The tables are in the schema `husk`. */
#include <ctype.h>
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/library.h"
#include "base/loop.h"
#include "manager/store/db.h"

#define COLUMNS_MAX 32
#define PARAMS_MAX 32
#define NUMBER_MAX 24
#define MESSAGE_MAX 400u

/* Type numbers from the catalogue pg_type. They are part of the protocol and never change. */
#define OID_INT8 20
#define OID_INT2 21
#define OID_INT4 23
#define OID_TEXT 25
#define OID_NUMERIC 1700

/* Serializes all transactions on a database. The number is "husk" in ASCII. */
#define LOCK "SELECT pg_advisory_xact_lock(1752527723)"

/* Postgres gets time limits too, so that a Husk server that is stopped during a transaction does not block others.
 * Acknowledged records must be on disk even if an operator has turned synchronous_commit off. */
#define PREPARE                                                                                                        \
	"SET client_min_messages = warning; SET statement_timeout = 10000; "                                           \
	"SET idle_in_transaction_session_timeout = 10000; SET search_path = husk; "                                    \
	"SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"

struct postgres {
	struct db db;
	PGconn *connection;
	char *where;	/* for messages: host, port and the name of the setting */
	char *password; /* removed from messages; may be NULL */
	const char *setting;
};

/* --- the library -------------------------------------------------------------------------------------------------- */

#define FUNCTIONS(X)                                                                                                   \
	X(PQclear)                                                                                                     \
	X(PQcmdTuples)                                                                                                 \
	X(PQconnectPoll)                                                                                               \
	X(PQconnectStartParams)                                                                                        \
	X(PQconninfoFree)                                                                                              \
	X(PQconninfoParse)                                                                                             \
	X(PQconsumeInput)                                                                                              \
	X(PQerrorMessage)                                                                                              \
	X(PQfinish)                                                                                                    \
	X(PQflush)                                                                                                     \
	X(PQftype)                                                                                                     \
	X(PQgetResult)                                                                                                 \
	X(PQgetisnull)                                                                                                 \
	X(PQgetvalue)                                                                                                  \
	X(PQisBusy)                                                                                                    \
	X(PQnfields)                                                                                                   \
	X(PQntuples)                                                                                                   \
	X(PQresultErrorField)                                                                                          \
	X(PQresultErrorMessage)                                                                                        \
	X(PQresultStatus)                                                                                              \
	X(PQsendQuery)                                                                                                 \
	X(PQsendQueryParams)                                                                                           \
	X(PQsetNoticeProcessor)                                                                                        \
	X(PQsetnonblocking)                                                                                            \
	X(PQsocket)                                                                                                    \
	X(PQstatus)                                                                                                    \
	X(PQtransactionStatus)

static struct {
	FUNCTIONS(LIBRARY_POINTER)
} lib;

static struct library libpq = LIBRARY(FUNCTIONS, "libhusk-pq.so.5", "libpq.so.5", "libpq.5.dylib");

static int load(struct fail *f)
{
	if (library_load(&libpq))
		return 0;
	fail_set(f, FAIL_STORE, "cannot use Postgres: libpq cannot be loaded (libpq.so.5)");
	return fail_hint(
		f,
		"install libpq 5 on the machine that runs Husk, or remove DATABASE_URL and POSTGRES_HOST to use the embedded store");
}

/* --- failures ---------------------------------------------------------------------------------------------------- */

/* Makes one line of a message, without the password, which servers and libraries may repeat. */
static char *clean(const struct postgres *p, const char *text)
{
	AUTO(buf_release) struct buf out = { 0 };
	size_t secret = p->password ? strlen(p->password) : 0;
	while (isspace((unsigned char)*text))
		text++;
	for (const char *c = text; *c && out.len < MESSAGE_MAX;) {
		if (secret && strncmp(c, p->password, secret) == 0) {
			buf_add_str(&out, "***");
			c += secret;
		} else if (!isspace((unsigned char)*c)) {
			buf_add(&out, c++, 1);
		} else {
			buf_add(&out, " ", 1);
			c += strspn(c, " \t\r\n\v\f");
		}
	}
	while (out.len && out.data[out.len - 1] == ' ')
		out.len--;
	return buf_steal_str(&out);
}

static int unreachable(struct postgres *p, struct fail *f)
{
	AUTO(freep) char *why = clean(p, p->connection ? lib.PQerrorMessage(p->connection) : "no memory");
	p->db.broken = true;
	fail_set(f, FAIL_STORE, "cannot use Postgres at %s: %s", p->where, *why ? why : "the connection is gone");
	return fail_hint(f, "check that it runs and that %s is right, then try again: husk reconnects by itself",
			 p->setting);
}

static int overdue(struct postgres *p, struct fail *f)
{
	p->db.broken = true;
	fail_set(f, FAIL_STORE, "Postgres at %s did not answer in time", p->where);
	return fail_hint(
		f,
		"check that it runs, is not stopped or overloaded, and that the network lets %s through; then try again",
		p->setting);
}

static bool starts(const char *state, const char *class)
{
	return strncmp(state, class, strlen(class)) == 0;
}

/* Classifies by SQLSTATE, which does not depend on the server's version and language. */
static int refused(struct postgres *p, PGresult *result, struct fail *f)
{
	const char *state = lib.PQresultErrorField(result, PG_DIAG_SQLSTATE);
	AUTO(freep) char *why = clean(p, lib.PQresultErrorMessage(result));
	if (!state || lib.PQstatus(p->connection) == CONNECTION_BAD)
		return unreachable(p, f);
	/* The server shut down, ended a long transaction, or is now read-only: another connection may work. */
	if (starts(state, "57P") || starts(state, "25P03") || starts(state, "25006") || starts(state, "08"))
		p->db.broken = true;
	fail_set(f, FAIL_STORE, "Postgres at %s failed: %s", p->where, why);
	if (starts(state, "42501"))
		return fail_hint(
			f,
			"let its user create the schema (GRANT CREATE ON DATABASE …), or create it for the user: CREATE SCHEMA husk AUTHORIZATION …");
	if (starts(state, "57014") || starts(state, "55P03"))
		return fail_hint(
			f, "try again; if that does not help, look for a session that holds a lock (pg_stat_activity)");
	if (starts(state, "53"))
		return fail_hint(f, "its disk, memory or connections are exhausted: free some");
	return fail_hint(f, "check its log; %s must name a database that accepts writes", p->setting);
}

/* --- waiting ----------------------------------------------------------------------------------------------------- */

/* 0 when the socket is ready, -1 with f at the deadline. */
static int wait_for(struct postgres *p, short events, struct fail *f)
{
	for (;;) {
		struct pollfd fd = { .fd = lib.PQsocket(p->connection), .events = events };
		uint64_t left = db_time_left(&p->db);
		if (!left)
			return overdue(p, f);
		int r = poll(&fd, 1, (int)MIN(left, 60000u));
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return unreachable(p, f);
	}
}

static int flush(struct postgres *p, struct fail *f)
{
	for (;;) {
		int r = lib.PQflush(p->connection);
		if (r < 0)
			return unreachable(p, f);
		if (r == 0)
			return 0;
		if (wait_for(p, POLLIN | POLLOUT, f) < 0)
			return -1;
		if (!lib.PQconsumeInput(p->connection))
			return unreachable(p, f);
	}
}

/* *ret NULL = no more results. */
static int next_result(struct postgres *p, PGresult **ret, struct fail *f)
{
	while (lib.PQisBusy(p->connection)) {
		if (wait_for(p, POLLIN, f) < 0)
			return -1;
		if (!lib.PQconsumeInput(p->connection))
			return unreachable(p, f);
	}
	*ret = lib.PQgetResult(p->connection);
	return 0;
}

/* --- statements -------------------------------------------------------------------------------------------------- */

static void give_rows(PGresult *result, const struct db_query *q)
{
	size_t n = MIN((size_t)lib.PQnfields(result), COLUMNS_MAX);
	for (int row = 0; row < lib.PQntuples(result); row++) {
		struct db_value columns[COLUMNS_MAX] = { 0 };
		for (size_t i = 0; i < n; i++) {
			Oid type = lib.PQftype(result, (int)i);
			const char *text = lib.PQgetvalue(result, row, (int)i);
			if (lib.PQgetisnull(result, row, (int)i))
				continue;
			if (type == OID_INT8 || type == OID_INT4 || type == OID_INT2 || type == OID_NUMERIC)
				columns[i] = (struct db_value){ .kind = DB_INT, .number = strtoll(text, NULL, 10) };
			else
				columns[i] = db_text(text);
		}
		q->on_row(q->ctx, columns, n);
	}
}

static int read_result(struct postgres *p, struct db_query *q, PGresult *result, struct fail *f)
{
	switch (lib.PQresultStatus(result)) {
	case PGRES_TUPLES_OK:
		if (q->on_row)
			give_rows(result, q);
		return 0;
	case PGRES_COMMAND_OK:
		q->changed = strtoull(lib.PQcmdTuples(result), NULL, 10);
		return 0;
	default:
		return refused(p, result, f);
	}
}

/* Reads all results even after a failure, because the connection is used again. Returns the first failure. */
static int read_results(struct postgres *p, struct db_query *q, struct fail *f)
{
	int r = 0;
	for (;;) {
		PGresult *result = NULL;
		AUTO(fail_release) struct fail other = { 0 };
		if (next_result(p, &result, r < 0 ? &other : f) < 0)
			return -1;
		if (!result)
			return r;
		if (r == 0)
			r = read_result(p, q, result, f);
		lib.PQclear(result);
	}
}

static int send(struct postgres *p, const struct db_query *q)
{
	char numbers[PARAMS_MAX][NUMBER_MAX];
	const char *values[PARAMS_MAX];
	Oid types[PARAMS_MAX];
	if (q->n == 0)
		return lib.PQsendQuery(p->connection, q->sql);
	if (q->n > PARAMS_MAX)
		abort();
	for (size_t i = 0; i < q->n; i++) {
		const struct db_value *v = &q->params[i];
		snprintf(numbers[i], NUMBER_MAX, "%lld", (long long)v->number);
		values[i] = v->kind == DB_INT ? numbers[i] : v->kind == DB_TEXT ? v->text : NULL;
		types[i] = v->kind == DB_INT ? OID_INT8 : OID_TEXT;
	}
	return lib.PQsendQueryParams(p->connection, q->sql, (int)q->n, types, values, NULL, NULL, 0);
}

static int postgres_exec(struct db *db, struct db_query *q, struct fail *f)
{
	struct postgres *p = container_of(db, struct postgres, db);
	if (!send(p, q))
		return unreachable(p, f);
	return flush(p, f) < 0 ? -1 : read_results(p, q, f);
}

static int run(struct postgres *p, const char *sql, struct fail *f)
{
	struct db_query q = { .sql = sql };
	return postgres_exec(&p->db, &q, f);
}

static int postgres_begin(struct db *db, enum db_durability durability, struct fail *f)
{
	struct postgres *p = container_of(db, struct postgres, db);
	return run(p, durability == DB_RELAXED ? "BEGIN; SET LOCAL synchronous_commit TO OFF; " LOCK : "BEGIN; " LOCK,
		   f);
}

static int postgres_commit(struct db *db, struct fail *f)
{
	return run(container_of(db, struct postgres, db), "COMMIT", f);
}

static void postgres_rollback(struct db *db)
{
	struct postgres *p = container_of(db, struct postgres, db);
	AUTO(fail_release) struct fail f = { 0 };
	if (!db->broken && lib.PQtransactionStatus(p->connection) != PQTRANS_IDLE && run(p, "ROLLBACK", &f) < 0)
		db->broken = true;
}

static void postgres_close(struct db *db)
{
	struct postgres *p = container_of(db, struct postgres, db);
	if (p->connection)
		lib.PQfinish(p->connection);
	free(p->where);
	free(p->password);
	free(p);
}

/* STRANGERS excludes triggers that Postgres itself created for constraints. */
#define OURS "SELECT oid FROM pg_class WHERE relname IN (" DB_TABLES ") AND pg_table_is_visible(oid)"
#define STRANGERS                                                                                                              \
	"SELECT 'trigger', CAST(tgname AS TEXT) FROM pg_trigger WHERE NOT tgisinternal AND tgrelid IN (" OURS                  \
	") UNION ALL SELECT 'rule', CAST(rulename AS TEXT) FROM pg_rewrite WHERE rulename <> '_RETURN' AND ev_class IN (" OURS \
	") UNION ALL SELECT 'view', CAST(relname AS TEXT) FROM pg_class WHERE relkind NOT IN ('r', 'p') AND oid IN (" OURS     \
	") UNION ALL SELECT 'policy', CAST(relname AS TEXT) FROM pg_class WHERE relrowsecurity AND oid IN (" OURS              \
	") ORDER BY 1, 2"

static const struct db_ops postgres_ops = {
	.strangers = STRANGERS,
	.exec = postgres_exec,
	.begin = postgres_begin,
	.commit = postgres_commit,
	.rollback = postgres_rollback,
	.close = postgres_close,
};

/* --- opening ----------------------------------------------------------------------------------------------------- */

/* Python programs put a driver into the scheme: postgresql+psycopg://…. This removes it. The caller owns the result. */
static char *without_driver(const char *url)
{
	static const char scheme[] = "postgresql";
	const char *rest = strstr(url, "://");
	if (rest && strncmp(url, "postgres", 8) == 0 && memchr(url, '+', (size_t)(rest - url)))
		return xasprintf("%s%s", scheme, rest);
	return xstrdup(url);
}

static const char *option(const PQconninfoOption *options, const char *name)
{
	for (const PQconninfoOption *o = options; o && o->keyword; o++)
		if (streq(o->keyword, name) && o->val && *o->val)
			return o->val;
	return NULL;
}

static char *describe(const char *host, const char *port, const char *setting)
{
	if (!host)
		return xasprintf("its local socket (%s)", setting);
	return *host == '/' ? xasprintf("%s (%s)", host, setting) : xasprintf("%s:%s (%s)", host, port, setting);
}

static int read_url(struct postgres *p, const char *url, struct fail *f)
{
	if (load(f) < 0)
		return -1;
	/* libpq's message is not used, since it would repeat the URL with its password. */
	PQconninfoOption *options = lib.PQconninfoParse(url, NULL);
	if (!options) {
		fail_set(f, FAIL_STORE, "setting DATABASE_URL is not the address of a Postgres database");
		return fail_hint(
			f,
			"write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, special characters percent-encoded, or remove it to use the embedded store");
	}
	const char *host = option(options, "host"), *port = option(options, "port"),
		   *password = option(options, "password");
	if (!host)
		host = option(options, "hostaddr");
	p->where = describe(host, port ? port : "5432", p->setting);
	p->password = password ? xstrdup(password) : NULL;
	lib.PQconninfoFree(options);
	return 0;
}

static int start(struct postgres *p, const struct db_place *place, struct fail *f)
{
	static const char *const names[] = {
		"dbname", "host", "port", "user", "password", "fallback_application_name", "client_encoding", NULL
	};
	const char *values[ARRAY_LEN(names)] = { NULL };
	AUTO(freep) char *url = place->url ? without_driver(place->url) : NULL;
	p->setting = place->url ? "DATABASE_URL" : "POSTGRES_HOST";
	values[5] = "husk";
	values[6] = "UTF8";
	if (url) {
		if (read_url(p, url, f) < 0)
			return -1;
		values[0] = url;
	} else {
		values[0] = place->name;
		values[1] = place->host ? place->host : "localhost";
		values[2] = place->port;
		values[3] = place->user;
		values[4] = place->password;
		p->where = describe(values[1], place->port, p->setting);
		p->password = place->password ? xstrdup(place->password) : NULL;
	}
	p->connection = lib.PQconnectStartParams(names, values, /* expand_dbname= */ url != NULL);
	return p->connection && lib.PQstatus(p->connection) != CONNECTION_BAD ? 0 : unreachable(p, f);
}

char *postgres_describe(const struct db_place *place)
{
	struct postgres p = { .setting = place->url ? "DATABASE_URL" : "POSTGRES_HOST" };
	AUTO(freep) char *url = place->url ? without_driver(place->url) : NULL;
	AUTO(fail_release) struct fail f = { 0 };
	if (!url)
		p.where = describe(place->host ? place->host : "localhost", place->port, p.setting);
	else if (read_url(&p, url, &f) < 0)
		p.where = xstrdup("an address that cannot be parsed (DATABASE_URL)");
	char *text = xasprintf("Postgres at %s", p.where);
	free(p.where);
	free(p.password);
	return text;
}

static int finish_connect(struct postgres *p, struct fail *f)
{
	/* libpq requires that we first wait as if PQconnectPoll() had returned PGRES_POLLING_WRITING. */
	for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;) {
		if (next == PGRES_POLLING_FAILED)
			return unreachable(p, f);
		if (wait_for(p, next == PGRES_POLLING_READING ? POLLIN : POLLOUT, f) < 0)
			return -1;
		next = lib.PQconnectPoll(p->connection);
	}
	return lib.PQsetnonblocking(p->connection, 1) < 0 ? unreachable(p, f) : 0;
}

static int make_schema(struct db *db, void *ctx UNUSED, struct fail *f)
{
	struct db_query query = { .sql = "SELECT COUNT(*) FROM pg_catalog.pg_namespace WHERE nspname = 'husk'" };
	struct db_query make = { .sql = "CREATE SCHEMA husk" };
	uint64_t there;
	if (db_number(db, &query, &there, f) < 0)
		return -1;
	return there ? 0 : db_exec(db, &make, f);
}

/* By default libpq prints the server's notices to stderr. */
static void ignore_notice(void *ctx UNUSED, const char *message UNUSED)
{
}

int postgres_open(struct db **ret, const struct db_place *place, uint64_t deadline_ms, struct fail *f)
{
	struct postgres *p = new0(struct postgres);
	p->db.ops = &postgres_ops;
	p->db.deadline_ms = deadline_ms;
	int r = load(f) < 0 ? -1 : start(p, place, f);
	if (r == 0)
		lib.PQsetNoticeProcessor(p->connection, ignore_notice, NULL);
	if (r < 0 || finish_connect(p, f) < 0 || run(p, PREPARE, f) < 0 ||
	    db_transaction(&p->db, DB_DURABLE, make_schema, NULL, f) < 0) {
		postgres_close(&p->db);
		return -1;
	}
	*ret = &p->db;
	return 0;
}
