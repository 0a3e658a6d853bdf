#include "manager/store/chain.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/strv.h"
#include "manager/store/chain-private.h"

/* --- hashes ------------------------------------------------------------------------------------------------------ */

/* Adds a value and its index to the text to be hashed. NULL adds nothing, so old records keep their hash when their
 * table gets a new column. */
static void add_value(struct buf *b, size_t place, const struct db_value *v)
{
	if (v->kind == DB_NULL)
		return;
	buf_add_int(b, (int64_t)place);
	if (v->kind == DB_INT) {
		buf_add(b, " i ", 3);
		buf_add_int(b, v->number);
	} else {
		size_t n = strlen(v->text);
		buf_add(b, " t ", 3);
		buf_add_int(b, (int64_t)n);
		buf_add(b, " ", 1);
		buf_add(b, v->text, n);
	}
	buf_add(b, "\n", 1);
}

int chain_hash(struct key *key, const char *kind, const struct db_value *columns, size_t n, char ret[KEY_HASH_SIZE],
	       struct fail *f)
{
	AUTO(buf_release) struct buf b = { 0 };
	buf_add_str(&b, kind);
	buf_add(&b, "\n", 1);
	for (size_t i = 0; i < n; i++)
		add_value(&b, i, &columns[i]);
	return key_hash(key, buf_str(&b), b.len, ret, f);
}

int chain_seal_head(struct key *key, const char *session, uint64_t position, const char *link, char ret[KEY_HASH_SIZE],
		    struct fail *f)
{
	const struct db_value v[] = { db_text(session), db_int(position), db_text(link) };
	return chain_hash(key, "head", v, ARRAY_LEN(v), ret, f);
}

int chain_seal_tombstone(struct key *key, const char *session, const struct tombstone *t, char ret[KEY_HASH_SIZE],
			 struct fail *f)
{
	const struct db_value v[] = { db_text(session), db_int(t->position), db_text(t->link), db_int(t->pruned),
				      db_int(t->pruned_at) };
	return chain_hash(key, "tombstone", v, ARRAY_LEN(v), ret, f);
}

int chain_link(struct key *key, const char *session, uint64_t position, const char *before, const char *kind,
	       const char *item, const char *content, char ret[KEY_HASH_SIZE], struct fail *f)
{
	const struct db_value v[] = { db_text(session), db_int(position), db_text(before),
				      db_text(kind),	db_text(item),	  db_text(content) };
	return chain_hash(key, "link", v, ARRAY_LEN(v), ret, f);
}

/* --- heads ------------------------------------------------------------------------------------------------------- */

struct found_head {
	bool there;
	uint64_t position, last;
	char link[KEY_HASH_SIZE], seal[KEY_HASH_SIZE];
};

static void take_head(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct found_head *h = ctx;
	h->there = v[1].kind != DB_NULL;
	h->last = column_int(&v[0]);
	h->position = column_int(&v[1]);
	chain_copy_hash(h->link, &v[2]);
	chain_copy_hash(h->seal, &v[3]);
}

/* A damaged chain can still be extended. The next link is added after the last one, and verification reports that it
 * does not follow from that link. */
static int read_head(struct chain *c, struct chain_head *head, struct fail *f)
{
	struct found_head h = { 0 };
	char seal[KEY_HASH_SIZE];
	struct db_query q = {
		.sql = "SELECT m.last, h.position, h.link, h.seal FROM (SELECT MAX(position) AS last FROM chain WHERE session = $1) AS m "
		       "LEFT JOIN chain_heads h ON h.session = $1",
		DB_PARAMS(db_text(head->session)),
		.on_row = take_head,
		.ctx = &h
	};
	if (db_exec(c->db, &q, f) < 0 || chain_seal_head(c->key, head->session, h.position, h.link, seal, f) < 0)
		return -1;
	bool begun = h.position > 0, good = h.there && h.last == h.position && (!begun || streq(seal, h.seal));
	head->there = h.there;
	head->position = MAX(h.last, h.position);
	snprintf(head->link, sizeof(head->link), "%s", good ? h.link : "");
	return 0;
}

static struct chain_head *find_head(struct chain *c, const char *session, struct fail *f)
{
	for (size_t i = 0; i < c->n; i++)
		if (streq(c->heads[i].session, session))
			return &c->heads[i];
	c->heads = xrealloc(c->heads, (c->n + 1) * sizeof(*c->heads));
	c->heads[c->n] = (struct chain_head){ .session = xstrdup(session) };
	if (read_head(c, &c->heads[c->n], f) == 0)
		return &c->heads[c->n++];
	free(c->heads[c->n].session);
	return NULL;
}

/* A trigger or a rule can drop a row without an error. */
static int check_taken(const struct db_query *q, struct fail *f)
{
	if (q->changed)
		return 0;
	fail_set(f, FAIL_STORE, "the database did not store a record of the log");
	return fail_hint(f, "Something in the database drops what is written: `husk history --verify` names it.");
}

static int write_head(struct chain *c, const struct chain_head *h, struct fail *f)
{
	char seal[KEY_HASH_SIZE];
	if (chain_seal_head(c->key, h->session, h->position, h->link, seal, f) < 0)
		return -1;
	struct db_query q = {
		.sql = "INSERT INTO chain_heads (session, position, link, seal) VALUES ($1, $2, $3, $4) ON CONFLICT (session) "
		       "DO UPDATE SET position = excluded.position, link = excluded.link, seal = excluded.seal",
		DB_PARAMS(db_text(h->session), db_int(h->position), db_text(h->link), db_text(seal))
	};
	return db_exec(c->db, &q, f) < 0 ? -1 : check_taken(&q, f);
}

int chain_end(struct chain *c, struct fail *f)
{
	for (size_t i = 0; i < c->n; i++)
		if (write_head(c, &c->heads[i], f) < 0)
			return -1;
	return 0;
}

void chain_release(struct chain *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->heads[i].session);
	free(c->heads);
	c->heads = NULL;
	c->n = 0;
}

/* --- links ------------------------------------------------------------------------------------------------------- */

static int append(struct chain *c, struct chain_head *head, const char *kind, const char *item, const char *content,
		  struct fail *f)
{
	char link[KEY_HASH_SIZE];
	uint64_t position = head->position + 1;
	if (chain_link(c->key, head->session, position, head->link, kind, item, content, link, f) < 0)
		return -1;
	struct db_query q = {
		.sql = "INSERT INTO chain (session, position, kind, item, content, link) VALUES ($1, $2, $3, $4, $5, $6)",
		DB_PARAMS(db_text(head->session), db_int(position), db_text(kind), db_text(item), db_text(content),
			  db_text(link))
	};
	if (db_exec(c->db, &q, f) < 0 || check_taken(&q, f) < 0)
		return -1;
	head->position = position;
	memcpy(head->link, link, sizeof(head->link));
	return 0;
}

static int append_to_store(struct chain *c, const char *kind, const char *item, struct fail *f)
{
	struct chain_head *store = find_head(c, STORE_CHAIN, f);
	return store ? append(c, store, kind, item, "", f) : -1;
}

int chain_begin(struct chain *c, uint64_t now_ms, struct fail *f)
{
	uint64_t executions, exports;
	struct chain_head *store = find_head(c, STORE_CHAIN, f);
	if (!store)
		return -1;
	if (store->there && store->position)
		return 0;
	struct db_query count = { .sql = "SELECT COUNT(*) FROM executions" };
	struct db_query count_exports = { .sql = "SELECT COUNT(*) FROM exports" };
	if (db_number(c->db, &count, &executions, f) < 0 || db_number(c->db, &count_exports, &exports, f) < 0)
		return -1;
	uint64_t rows = executions + exports;
	AUTO(freep) char *item = xasprintf("%llu %llu", (unsigned long long)rows, (unsigned long long)now_ms);
	return append_to_store(c, store->there ? CHAIN_START : CHAIN_RESTART, item, f);
}

static int add(struct chain *c, const char *session, const char *kind, const char *item, const char *content,
	       struct fail *f)
{
	struct chain_head *head = find_head(c, session, f);
	if (!head)
		return -1;
	if (!head->there) {
		if (append_to_store(c, CHAIN_SESSION, session, f) < 0)
			return -1;
		head = find_head(c, session, f); /* the array may have moved */
		head->there = true;
	}
	return append(c, head, kind, item, content, f);
}

/* --- statements that write records ------------------------------------------------------------------------------- */

struct written {
	struct strv items, contents; /* parallel */
	const char *kind;
	size_t item; /* index of the column that identifies a record */
	struct key *key;
	struct fail fail;
};

static void take_written(void *ctx, const struct db_value *v, size_t n)
{
	struct written *w = ctx;
	char content[KEY_HASH_SIZE];
	if (w->fail.kind || chain_hash(w->key, w->kind, v, n, content, &w->fail) < 0)
		return;
	if (v[w->item].kind == DB_TEXT)
		strv_add(&w->items, v[w->item].text);
	else
		strv_addf(&w->items, "%lld", (long long)v[w->item].number);
	strv_add(&w->contents, content);
}

int chain_exec(struct chain *c, struct db_query *q, const char *session, const char *kind, size_t item, struct fail *f)
{
	struct written w = { .kind = kind, .item = item, .key = c->key };
	q->on_row = take_written;
	q->ctx = &w;
	int r = db_exec(c->db, q, f);
	if (r == 0 && w.fail.kind) {
		fail_move(f, &w.fail);
		r = -1;
	}
	for (size_t i = 0; r == 0 && i < w.items.n; i++)
		r = add(c, session, kind, w.items.v[i], w.contents.v[i], f);
	c->written = w.items.n;
	strv_release(&w.items);
	strv_release(&w.contents);
	fail_release(&w.fail);
	return r;
}

int chain_add_row(struct chain *c, const struct db_value *columns, size_t n, const char *session, const char *kind,
		  const char *item, struct fail *f)
{
	char content[KEY_HASH_SIZE];
	if (chain_hash(c->key, kind, columns, n, content, f) < 0)
		return -1;
	return add(c, session, kind, item, content, f);
}

int chain_note_swallowed(struct chain *c, const char *session, const char *kind, const char *item, struct fail *f)
{
	return add(c, session, kind, item, "", f);
}

/* --- pruning ----------------------------------------------------------------------------------------------------- */

static void take_tombstone(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct tombstone *t = ctx;
	t->there = true;
	t->position = column_int(&v[0]);
	chain_copy_hash(t->link, &v[1]);
	t->pruned = column_int(&v[2]);
	t->pruned_at = column_int(&v[3]);
	chain_copy_hash(t->seal, &v[4]);
}

int chain_read_tombstone(struct db *db, const char *session, struct tombstone *ret, struct fail *f)
{
	struct db_query q = {
		.sql = "SELECT position, link, pruned, pruned_at, seal FROM chain_tombstones WHERE session = $1",
		DB_PARAMS(db_text(session)),
		.on_row = take_tombstone,
		.ctx = ret
	};
	*ret = (struct tombstone){ 0 };
	return db_exec(db, &q, f);
}

static int write_tombstone(struct chain *c, const char *session, const struct tombstone *t, struct fail *f)
{
	char seal[KEY_HASH_SIZE];
	if (chain_seal_tombstone(c->key, session, t, seal, f) < 0)
		return -1;
	struct db_query q = {
		.sql = "INSERT INTO chain_tombstones (session, position, link, pruned, pruned_at, seal) VALUES ($1, $2, $3, $4, $5, $6) "
		       "ON CONFLICT (session) DO UPDATE SET position = excluded.position, link = excluded.link, pruned = excluded.pruned, "
		       "pruned_at = excluded.pruned_at, seal = excluded.seal",
		DB_PARAMS(db_text(session), db_int(t->position), db_text(t->link), db_int(t->pruned),
			  db_int(t->pruned_at), db_text(seal))
	};
	return db_exec(c->db, &q, f);
}

static int bury(struct chain *c, const char *session, uint64_t now_ms, uint64_t *ret_n, struct fail *f)
{
	struct tombstone t;
	struct db_query records = { .sql = "DELETE FROM executions WHERE session = $1", DB_PARAMS(db_text(session)) };
	struct db_query cells = { .sql = "DELETE FROM cells WHERE session = $1", DB_PARAMS(db_text(session)) };
	struct db_query links = { .sql = "DELETE FROM chain WHERE session = $1", DB_PARAMS(db_text(session)) };
	struct db_query exports = { .sql = "SELECT " EXPORT_COLUMNS
					   " FROM exports WHERE session = $1 ORDER BY created, id",
				    DB_PARAMS(db_text(session)) };
	const struct chain_head *head = find_head(c, session, f);
	if (!head || chain_read_tombstone(c->db, session, &t, f) < 0 || db_exec(c->db, &records, f) < 0 ||
	    db_exec(c->db, &cells, f) < 0 || db_exec(c->db, &links, f) < 0)
		return -1;
	*ret_n = records.changed;
	t.position = head->position;
	memcpy(t.link, head->link, sizeof(t.link));
	t.pruned += records.changed;
	t.pruned_at = now_ms;
	if (write_tombstone(c, session, &t, f) < 0)
		return -1;
	return chain_exec(c, &exports, session, CHAIN_EXPORT, 0, f);
}

int chain_prune(struct db *db, struct key *key, const char *session, uint64_t now_ms, uint64_t *ret_n, struct fail *f)
{
	AUTO(verdict_release) struct log_verdict verdict = { 0 };
	AUTO(chain_release) struct chain c = { .db = db, .key = key };
	*ret_n = 0;
	if (chain_verify(db, key, session, &verdict, f) < 0)
		return -1;
	if (!verdict_is_good(&verdict))
		return 0;
	return chain_begin(&c, now_ms, f) < 0 || bury(&c, session, now_ms, ret_n, f) < 0 ? -1 : chain_end(&c, f);
}
