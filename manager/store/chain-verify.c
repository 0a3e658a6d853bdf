/* Compares a chain with its records. */
#include "base/alloc.h"
#include "base/parse.h"
#include "manager/store/chain-private.h"

/* State of one verification. */
struct verification {
	struct db *db;
	struct key *key;
	const char *session;
	struct log_verdict *verdict;
	struct tombstone tombstone;
	uint64_t position; /* position of the last link that was read */
	char link[KEY_HASH_SIZE];
	const char *kind;    /* kind of the records being compared */
	size_t item;	     /* the column that identifies a record */
	size_t n_columns;    /* columns of a record; its last link's content follows them */
	bool may_be_older;   /* there may be records older than the chain */
	struct fail failure; /* a hash that could not be computed */
};

static void find(struct verification *l, enum log_fault fault, const char *record, const char *item)
{
	verdict_add(l->verdict, fault, record, item);
}

static const char *text(const struct db_value *v)
{
	return v->kind == DB_TEXT ? v->text : "";
}

/* Like db_exec(), but also returns failures of on_row. */
static int exec(struct verification *l, struct db_query *q, db_row_fn on_row, struct fail *f)
{
	q->on_row = on_row;
	q->ctx = l;
	if (db_exec(l->db, q, f) < 0)
		return -1;
	if (!l->failure.kind)
		return 0;
	fail_move(f, &l->failure);
	return -1;
}

/* --- the links --------------------------------------------------------------------------------------------------- */

static void check_link(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct verification *l = ctx;
	char link[KEY_HASH_SIZE];
	uint64_t position = column_int(&v[0]);
	if (chain_link(l->key, l->session, position, l->link, text(&v[1]), text(&v[2]), text(&v[3]), link,
		       &l->failure) < 0)
		return;
	if (position != l->position + 1 || !streq(link, text(&v[4]))) {
		AUTO(freep) char *at = xasprintf("%llu", (unsigned long long)position);
		find(l, LOG_BROKEN, "", at);
	}
	if (streq(text(&v[1]), CHAIN_RESTART))
		find(l, LOG_RESTARTED, "", text(&v[2]));
	l->position = position;
	chain_copy_hash(l->link, &v[4]);
}

static int check_tombstone(struct verification *l, struct fail *f)
{
	char seal[KEY_HASH_SIZE];
	struct tombstone *t = &l->tombstone;
	if (chain_read_tombstone(l->db, l->session, t, f) < 0 ||
	    chain_seal_tombstone(l->key, l->session, t, seal, f) < 0)
		return -1;
	if (!t->there)
		return 0;
	if (!streq(seal, t->seal))
		find(l, LOG_TOMBSTONE, "", "");
	l->position = t->position;
	memcpy(l->link, t->link, sizeof(l->link));
	l->verdict->pruned = t->pruned;
	return 0;
}

static void check_head(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct verification *l = ctx;
	char seal[KEY_HASH_SIZE];
	bool there = v[0].kind != DB_NULL;
	uint64_t named = column_int(&v[3]); /* how often the store's chain names this one; must be 1 */
	uint64_t position = column_int(&v[0]);
	bool of_store = streq(l->session, STORE_CHAIN);
	if (chain_seal_head(l->key, l->session, position, text(&v[1]), seal, &l->failure) < 0)
		return;
	bool begun = position || l->position || !of_store;
	bool good =
		there && position == l->position && streq(text(&v[1]), l->link) && (!begun || streq(seal, text(&v[2])));
	/* A session without records has no chain. */
	if (!there && !named && !l->position && !of_store)
		return;
	if (!good)
		find(l, LOG_HEAD, "", "");
	if (!named && !of_store)
		find(l, LOG_ADDED, CHAIN_SESSION, l->session);
	if (named > 1)
		find(l, LOG_RESTARTED, CHAIN_SESSION, l->session);
}

static int check_links(struct verification *l, struct fail *f)
{
	struct db_query links = {
		.sql = "SELECT position, kind, item, content, link FROM chain WHERE session = $1 ORDER BY position",
		DB_PARAMS(db_text(l->session))
	};
	struct db_query head = {
		.sql = "SELECT h.position, h.link, h.seal, (SELECT COUNT(*) FROM chain WHERE session = '' AND kind = 'session' AND item = $1) "
		       "FROM (SELECT 1 AS one) AS always LEFT JOIN chain_heads h ON h.session = $1",
		DB_PARAMS(db_text(l->session))
	};
	if (check_tombstone(l, f) < 0 || exec(l, &links, check_link, f) < 0)
		return -1;
	return exec(l, &head, check_head, f);
}

/* --- the records ------------------------------------------------------------------------------------------------- */

static void check_record(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct verification *l = ctx;
	char content[KEY_HASH_SIZE], name[32];
	const struct db_value *linked = &v[l->n_columns], *item = &v[l->item];
	if (chain_hash(l->key, l->kind, v, l->n_columns, content, &l->failure) < 0)
		return;
	snprintf(name, sizeof(name), "%lld", (long long)item->number);
	const char *what = item->kind == DB_TEXT ? item->text : name;
	if (linked->kind == DB_NULL && l->may_be_older)
		l->verdict->uncovered++;
	else if (linked->kind == DB_NULL)
		find(l, LOG_ADDED, l->kind, what);
	else if (!streq(content, text(linked)))
		find(l, LOG_CHANGED, l->kind, what);
	else
		l->verdict->records++;
}

static void note_removed(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct verification *l = ctx;
	find(l, LOG_REMOVED, l->kind, text(&v[0]));
}

struct table {
	const char *kind;
	size_t item, n_columns;
	const char *records; /* each with the content of its last link */
	const char *removed; /* items of links whose record is missing */
};

#define LAST_CONTENT(item)                                                                                             \
	", (SELECT content FROM chain c WHERE c.session = $1 AND c.kind = $2 AND c.item = " item                       \
	" ORDER BY c.position DESC LIMIT 1) FROM "
#define REMOVED "SELECT DISTINCT item FROM chain c WHERE c.session = $1 AND c.kind = $2 AND NOT EXISTS (SELECT 1 FROM "

static const struct table session_tables[] = {
	{ CHAIN_EXECUTION, 1, 9,
	  "SELECT " EXECUTION_COLUMNS LAST_CONTENT("CAST(e.seq AS TEXT)") "executions e WHERE e.session = $1",
	  REMOVED "executions e WHERE e.session = $1 AND CAST(e.seq AS TEXT) = c.item)" },
	{ CHAIN_EXPORT, 0, 14, "SELECT " EXPORT_COLUMNS LAST_CONTENT("e.id") "exports e WHERE e.session = $1",
	  REMOVED "exports e WHERE e.session = $1 AND e.id = c.item)" },
};

static const struct table store_tables[] = {
	{ CHAIN_RECEIPT, 0, 6, "SELECT " RECEIPT_COLUMNS LAST_CONTENT("r.key") "receipts r",
	  REMOVED "receipts r WHERE r.key = c.item)" },
};

static int check_table(struct verification *l, const struct table *t, struct fail *f)
{
	struct db_query records = { .sql = t->records, DB_PARAMS(db_text(l->session), db_text(t->kind)) };
	struct db_query removed = { .sql = t->removed, DB_PARAMS(db_text(l->session), db_text(t->kind)) };
	l->kind = t->kind;
	l->item = t->item;
	l->n_columns = t->n_columns;
	return exec(l, &records, check_record, f) < 0 ? -1 : exec(l, &removed, note_removed, f);
}

/* --- numbers ----------------------------------------------------------------------------------------------------- */

struct numbers {
	struct verification *verification;
	uint64_t next;
};

static void check_number(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct numbers *c = ctx;
	uint64_t seq = column_int(&v[0]);
	if (c->next && seq > c->next) {
		AUTO(freep) char *missing = seq == c->next + 1 ? xasprintf("%llu", (unsigned long long)c->next) :
								 xasprintf("%llu-%llu", (unsigned long long)c->next,
									   (unsigned long long)seq - 1);
		find(c->verification, LOG_GAP, CHAIN_EXECUTION, missing);
	}
	c->next = seq + 1;
}

/* Runs and file copies are numbered from 1. If a trigger dropped a record, there is no link either, but its number
 * is missing. After pruning, the remaining numbers may begin anywhere. */
static int check_numbers(struct verification *l, struct fail *f)
{
	struct numbers c = { .verification = l, .next = l->tombstone.there || l->may_be_older ? 0 : 1 };
	struct db_query q = { .sql = "SELECT seq FROM executions WHERE session = $1 AND seq > 0 ORDER BY seq",
			      DB_PARAMS(db_text(l->session)),
			      .on_row = check_number,
			      .ctx = &c };
	return db_exec(l->db, &q, f);
}

/* --- the store --------------------------------------------------------------------------------------------------- */

static void note_lost_session(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	find(ctx, LOG_REMOVED, CHAIN_SESSION, text(&v[0]));
}

static int check_sessions(struct verification *l, struct fail *f)
{
	struct db_query lost = { .sql = "SELECT DISTINCT item FROM chain c WHERE c.session = '' AND c.kind = 'session' "
					"AND NOT EXISTS (SELECT 1 FROM chain_heads h WHERE h.session = c.item)" };
	return exec(l, &lost, note_lost_session, f);
}

/* Records without a link may be older than the chain, but there cannot be more of them than existed at its start. */
static int count_unlinked(struct verification *l, uint64_t older, struct fail *f)
{
	struct db_query executions = {
		.sql = "SELECT COUNT(*) FROM executions e WHERE NOT EXISTS (SELECT 1 FROM chain c WHERE c.session = e.session "
		       "AND c.kind = 'execution' AND c.item = CAST(e.seq AS TEXT))"
	};
	struct db_query exports = {
		.sql = "SELECT COUNT(*) FROM exports e WHERE NOT EXISTS (SELECT 1 FROM chain c WHERE c.session = e.session "
		       "AND c.kind = 'export' AND c.item = e.id)"
	};
	uint64_t n, m;
	if (db_number(l->db, &executions, &n, f) < 0 || db_number(l->db, &exports, &m, f) < 0)
		return -1;
	if (older && n + m > older) {
		AUTO(freep) char *many = xasprintf("%llu", (unsigned long long)(n + m - older));
		find(l, LOG_ADDED, "", many);
	}
	return 0;
}

static void note_stranger(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	find(ctx, LOG_SCHEMA, text(&v[0]), text(&v[1]));
}

/* Triggers, rules and the like that Husk did not create may change, hide or drop its records. */
static int check_schema(struct verification *l, struct fail *f)
{
	struct db_query q = { .sql = l->db->ops->strangers };
	return exec(l, &q, note_stranger, f);
}

static void take_start(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	uint64_t *older = ctx;
	AUTO(freep) char *first = xstrdup(text(&v[0]));
	first[strcspn(first, " ")] = '\0';
	if (parse_u64(first, older) < 0)
		*older = 0;
}

/* Reads the number of records older than the chain. The link that holds this number is checked with the store's
 * chain. */
static int older_records(struct db *db, uint64_t *ret, struct fail *f)
{
	struct db_query q = {
		.sql = "SELECT item FROM chain WHERE session = '' AND kind IN ('start', 'restart') ORDER BY position DESC LIMIT 1",
		.on_row = take_start,
		.ctx = ret
	};
	*ret = 0;
	return db_exec(db, &q, f);
}

int chain_verify(struct db *db, struct key *key, const char *session, struct log_verdict *ret, struct fail *f)
{
	AUTO(verdict_release) struct log_verdict verdict = { 0 };
	struct verification l = { .db = db, .key = key, .session = session, .verdict = &verdict };
	bool of_store = streq(session, STORE_CHAIN);
	const struct table *tables = of_store ? store_tables : session_tables;
	size_t n = of_store ? ARRAY_LEN(store_tables) : ARRAY_LEN(session_tables);
	uint64_t older;
	if (older_records(db, &older, f) < 0 || check_links(&l, f) < 0)
		return -1;
	l.may_be_older = !of_store && older > 0;
	for (size_t i = 0; i < n; i++)
		if (check_table(&l, &tables[i], f) < 0)
			return -1;
	if (of_store && (check_sessions(&l, f) < 0 || count_unlinked(&l, older, f) < 0 || check_schema(&l, f) < 0))
		return -1;
	if (!of_store && check_numbers(&l, f) < 0)
		return -1;
	*ret = verdict;
	verdict = (struct log_verdict){ 0 };
	return 0;
}
