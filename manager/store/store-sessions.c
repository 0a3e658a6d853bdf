/* Sessions: their owners, leases and limits. */
#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/model/handle.h"
#include "manager/model/token.h"
#include "manager/store/chain.h"
#include "manager/store/store-private.h"

#define COLUMNS                                                                                                        \
	"id, thread, runtime, container, image, owner, owner_host, owner_pid, fence, state, cause, limits, "           \
	"lease_until, created, used, ends, ended, busy, transport, mark, seal, name, memory, labels, engine"
#define HOLDS_SLOT "state IN ('starting', 'running') AND lease_until > "
#define HAS_CONTAINER "state IN ('starting', 'running', 'warm') AND lease_until > "
#define IS_WARM "state = 'warm' AND lease_until > "
#define SESSIONS_MAX 1000

struct session_job {
	struct store_job base;
	struct session_record row;
	const char *warm; /* the row to replace; NULL = none */
	struct claim_limits limits;
	struct session_update update;
	struct take_over take;
	const char *thread;
	bool all;
	store_claim_fn claim;
	store_done_fn done;
	store_session_fn one;
	store_sessions_fn list;
	void *ctx;
};

static struct session_job *new_job(struct store *s, int (*run)(struct store_job *job, struct db *db, struct fail *f),
				   void (*finish)(struct store_job *job, const struct fail *f), void *ctx)
{
	struct session_job *j = job_new(s, sizeof(*j), run, finish);
	j->base.size = sizeof(struct session_record);
	j->ctx = ctx;
	return j;
}

/* --- seals ------------------------------------------------------------------------------------------------------- */

static bool engine_is_default(const char *engine)
{
	return !engine || streq(engine, STORE_DEFAULT_ENGINE);
}

/* Excludes columns that change with each lease. They decide which server owns a session and for how long, but not
 * which container belongs to it. */
static int seal_row(struct key *key, const struct session_record *r, char ret[KEY_HASH_SIZE], struct fail *f)
{
	const struct db_value v[] = { db_text(r->id),	db_text(r->thread), db_text(r->runtime), db_text(r->container),
				      db_text(r->mark), db_text(r->image),  db_text(r->limits),	 db_int(r->created),
				      db_int(r->ends),	db_text(r->engine) };
	/* Servers that know no engine but Docker check their rows without the column. To them the row of another
	 * engine has a broken seal, so they leave its session alone. */
	size_t n = engine_is_default(r->engine) ? ARRAY_LEN(v) - 1 : ARRAY_LEN(v);
	return chain_hash(key, "session", v, n, ret, f);
}

static int check_seal(struct store_job *job, struct session_record *r, struct fail *f)
{
	char seal[KEY_HASH_SIZE];
	if (!r->sealed) {
		r->mark = NULL;
		return 0;
	}
	if (seal_row(job->key, r, seal, f) < 0)
		return -1;
	r->seal = streq(seal, r->sealed) ? SEAL_GOOD : SEAL_BROKEN;
	if (r->seal == SEAL_BROKEN)
		r->container = r->mark = NULL;
	return 0;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

/* The name is not sealed, so anybody with write access to the database can change it. */
static const char *shown_name(const char *name)
{
	return name && handle_name_is_valid(name) ? name : NULL;
}

static void take_row(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct store_job *job = ctx;
	*(struct session_record *)job_row(job) = (struct session_record){
		.id = column_text(job, &v[0]),
		.thread = column_text(job, &v[1]),
		.runtime = column_text(job, &v[2]),
		.container = column_text(job, &v[3]),
		.image = column_text(job, &v[4]),
		.owner = column_text(job, &v[5]),
		.owner_host = column_text(job, &v[6]),
		.owner_pid = column_int(&v[7]),
		.epoch = column_int(&v[8]),
		.state = row_state_find(column_text(job, &v[9])),
		.cause = column_text(job, &v[10]),
		.limits = column_text(job, &v[11]),
		.lease_until = column_int(&v[12]),
		.created = column_int(&v[13]),
		.used = column_int(&v[14]),
		.ends = column_int(&v[15]),
		.ended = column_int(&v[16]),
		.busy = column_int(&v[17]),
		.transport = column_text(job, &v[18]),
		.mark = column_text(job, &v[19]),
		.sealed = column_text(job, &v[20]),
		.name = shown_name(column_text(job, &v[21])),
		.memory = column_int(&v[22]),
		.labels = column_text(job, &v[23]),
		.engine = v[24].kind == DB_TEXT ? column_text(job, &v[24]) : STORE_DEFAULT_ENGINE,
	};
}

static int select_sessions(struct store_job *job, struct db *db, struct db_query q, struct fail *f)
{
	if (job_select(job, db, q, take_row, f) < 0)
		return -1;
	for (size_t i = 0; i < job->n; i++)
		if (check_seal(job, (struct session_record *)job->rows + i, f) < 0)
			return -1;
	return 0;
}

static int select_one(struct store_job *job, struct db *db, const char *id, struct fail *f)
{
	return select_sessions(job, db,
			       (struct db_query){ .sql = "SELECT " COLUMNS " FROM sessions WHERE id = $1",
						  DB_PARAMS(db_text(id)) },
			       f);
}

static int select_list(struct store_job *job, struct db *db, const char *thread, bool all, struct fail *f)
{
	/* One statement for all cases; $4 is the current time. */
	return select_sessions(
		job, db,
		(struct db_query){ .sql = "SELECT " COLUMNS
					  " FROM sessions WHERE ($1 = 1 OR thread = $2) AND ($3 = 1 OR (" HOLDS_SLOT
					  "$4)) ORDER BY created DESC, id DESC LIMIT $5",
				   DB_PARAMS(db_int(!thread), db_text(thread), db_int(all), db_int(store_now_ms()),
					     db_int(SESSIONS_MAX)) },
		f);
}

/* --- claim ------------------------------------------------------------------------------------------------------- */

/* All messages about a reached limit are built here. `what` and the first sentence are the reference's words. Each
 * face adds how to end a session. */
static int refuse(struct session_job *j, struct db *db, enum cause cause, const char *what, uint64_t limit,
		  const char *setting, struct fail *f)
{
	AUTO(fail_release) struct fail other = { 0 };
	/* If the list cannot be read, refuse without it. */
	if (select_list(&j->base, db, j->row.thread, false, &other) < 0)
		job_reset(&j->base);
	cause_set(f, FAIL_LIMIT, cause, "Maximum %s (%llu) reached. Stop an existing session first.", what,
		  (unsigned long long)limit);
	return fail_hint(f, "%s sets the limit.", setting);
}

/* The limits of the tenant that the conversation belongs to. Conversations of the tenant `local` have no common
 * beginning, and the server's own limits are theirs. */
static int check_tenant(struct session_job *j, struct db *db, struct fail *f)
{
	AUTO(freep) char *tenant = tenant_of(j->row.thread);
	AUTO(freep) char *like = xasprintf("@%s/%%", tenant);
	uint64_t now = store_now_ms(), sessions, memory;
	struct tenant_limits most;
	struct db_query count = { .sql = "SELECT COUNT(*) FROM sessions WHERE thread LIKE $2 AND " HOLDS_SLOT "$1",
				  DB_PARAMS(db_int(now), db_text(like)) };
	struct db_query sum = {
		.sql = "SELECT CAST(COALESCE(SUM(memory), 0) AS BIGINT) FROM sessions WHERE thread LIKE $2 AND " HOLDS_SLOT
		       "$1",
		DB_PARAMS(db_int(now), db_text(like))
	};
	if (streq(tenant, TENANT_LOCAL))
		return 0;
	if (tenant_limits_read(db, tenant, &most, f) < 0 || db_number(db, &count, &sessions, f) < 0 ||
	    db_number(db, &sum, &memory, f) < 0)
		return -1;
	if (most.sessions && sessions >= most.sessions)
		return refuse(j, db, CAUSE_LIMIT_TENANT, "sessions of this tenant", most.sessions, "The operator", f);
	if (most.memory && memory + j->row.memory > most.memory)
		return refuse(j, db, CAUSE_LIMIT_TENANT, "memory of this tenant's sessions in bytes", most.memory,
			      "The operator", f);
	return 0;
}

static int check_limits(struct session_job *j, struct db *db, struct fail *f)
{
	uint64_t now = store_now_ms(), sessions, mine, threads;
	struct db_query all = { .sql = "SELECT COUNT(*) FROM sessions WHERE " HOLDS_SLOT "$1", DB_PARAMS(db_int(now)) };
	struct db_query own = { .sql = "SELECT COUNT(*) FROM sessions WHERE thread = $2 AND " HOLDS_SLOT "$1",
				DB_PARAMS(db_int(now), db_text(j->row.thread)) };
	struct db_query distinct = { .sql = "SELECT COUNT(DISTINCT thread) FROM sessions WHERE " HOLDS_SLOT "$1",
				     DB_PARAMS(db_int(now)) };
	if (db_number(db, &all, &sessions, f) < 0 || db_number(db, &own, &mine, f) < 0 ||
	    db_number(db, &distinct, &threads, f) < 0)
		return -1;
	if (sessions >= j->limits.sessions)
		return refuse(j, db, CAUSE_LIMIT_SESSIONS, "number of sessions", j->limits.sessions,
			      "CONTAINER_MAX_SESSIONS", f);
	if (mine >= j->limits.sessions_per_thread)
		return refuse(j, db, CAUSE_LIMIT_CONVERSATION_SESSIONS, "sessions per conversation",
			      j->limits.sessions_per_thread, "CONTAINER_MAX_SESSIONS_PER_THREAD", f);
	if (mine == 0 && threads >= j->limits.threads)
		return refuse(j, db, CAUSE_LIMIT_CONVERSATIONS, "number of conversations with sessions",
			      j->limits.threads, "SESSION_MAX_ACTIVE_THREADS", f);
	return check_tenant(j, db, f);
}

/* Evicts this server's warm containers first, since that needs no other server. */
static int evict(struct session_job *j, struct db *db, uint64_t n, struct fail *f)
{
	uint64_t now = store_now_ms();
	struct db_query chosen = { .sql = "SELECT " COLUMNS " FROM sessions WHERE " IS_WARM
					  "$1 ORDER BY CASE WHEN owner = $2 THEN 0 ELSE 1 END, created, id LIMIT $3",
				   DB_PARAMS(db_int(now), db_text(j->row.owner), db_int(n)) };
	if (select_sessions(&j->base, db, chosen, f) < 0)
		return -1;
	for (size_t i = 0; i < j->base.n; i++) {
		const struct session_record *row = (const struct session_record *)j->base.rows + i;
		struct db_query q = { .sql = "DELETE FROM sessions WHERE id = $1", DB_PARAMS(db_text(row->id)) };
		if (db_exec(db, &q, f) < 0)
			return -1;
	}
	return 0;
}

/* Warm containers use only free slots and make way for sessions. */
static int make_room(struct session_job *j, struct db *db, struct fail *f)
{
	uint64_t now = store_now_ms(), sessions, warm;
	struct db_query all = { .sql = "SELECT COUNT(*) FROM sessions WHERE " HOLDS_SLOT "$1", DB_PARAMS(db_int(now)) };
	struct db_query ready = { .sql = "SELECT COUNT(*) FROM sessions WHERE " IS_WARM "$1", DB_PARAMS(db_int(now)) };
	if (db_number(db, &all, &sessions, f) < 0 || db_number(db, &ready, &warm, f) < 0)
		return -1;
	uint64_t after = sessions + warm + 1;
	if (after <= j->limits.sessions)
		return 0;
	if (j->row.state == ROW_WARM)
		return cause_set(f, FAIL_LIMIT, CAUSE_LIMIT_SESSIONS, "no slot is free (CONTAINER_MAX_SESSIONS)");
	return warm ? evict(j, db, MIN(after - j->limits.sessions, warm), f) : 0;
}

static int use_warm(const struct session_job *j, struct db *db, struct fail *f)
{
	struct db_query q = { .sql = "DELETE FROM sessions WHERE id = $1 AND owner = $2 AND state = 'warm'",
			      DB_PARAMS(db_text(j->warm), db_text(j->row.owner)) };
	if (!j->warm)
		return 0;
	if (db_exec(db, &q, f) < 0)
		return -1;
	return q.changed ? 0 : fail_set(f, FAIL_NOT_FOUND, "the warm container was evicted");
}

struct user_search {
	unsigned users, wanted;
	bool taken;
};

static void compare_user(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct user_search *search = ctx;
	search->taken |= v[0].kind == DB_TEXT && token_number(v[0].text, search->users) == search->wanted;
}

static int check_user(struct session_job *j, struct db *db, struct fail *f)
{
	if (!j->limits.users || !j->row.container)
		return 0;
	struct user_search search = { .users = j->limits.users,
				      .wanted = token_number(j->row.container, j->limits.users) };
	struct db_query q = { .sql = "SELECT container FROM sessions WHERE " HAS_CONTAINER "$1",
			      DB_PARAMS(db_int(store_now_ms())),
			      .on_row = compare_user,
			      .ctx = &search };
	if (db_exec(db, &q, f) < 0)
		return -1;
	return search.taken ?
		       cause_set(f, FAIL_BUSY, CAUSE_USER_TAKEN, "another session already uses the same user number") :
		       0;
}

static int insert(struct db *db, struct key *key, const struct session_record *r, struct fail *f)
{
	char seal[KEY_HASH_SIZE];
	if (seal_row(key, r, seal, f) < 0)
		return -1;
	struct db_query thread = {
		.sql = "INSERT INTO threads (id, created, used) VALUES ($1, $2, $2) ON CONFLICT (id) DO UPDATE SET used = excluded.used",
		DB_PARAMS(db_text(r->thread), db_int(r->created))
	};
	struct db_query q = {
		.sql = "INSERT INTO sessions (" COLUMNS
		       ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)",
		DB_PARAMS(db_text(r->id), db_text(r->thread), db_text(r->runtime), db_text(r->container),
			  db_text(r->image), db_text(r->owner), db_text(r->owner_host), db_int(r->owner_pid),
			  db_int(r->epoch), db_text(row_state_name(r->state)), db_text(r->cause), db_text(r->limits),
			  db_int(r->lease_until), db_int(r->created), db_int(r->used), db_int(r->ends),
			  db_int(r->ended), db_int(r->busy), db_text(r->transport), db_text(r->mark), db_text(seal),
			  db_text(r->name), db_int(r->memory), db_text(r->labels), db_text(r->engine))
	};
	if (r->state != ROW_WARM && db_exec(db, &thread, f) < 0)
		return -1;
	return db_exec(db, &q, f);
}

static int check_name(const struct session_job *j, struct db *db, struct fail *f)
{
	struct db_query q = { .sql = "SELECT COUNT(*) FROM sessions WHERE thread = $2 AND name = $3 AND " HOLDS_SLOT
				     "$1",
			      DB_PARAMS(db_int(store_now_ms()), db_text(j->row.thread), db_text(j->row.name)) };
	uint64_t taken;
	if (!j->row.name)
		return 0;
	if (db_number(db, &q, &taken, f) < 0)
		return -1;
	if (!taken)
		return 0;
	fail_set(f, FAIL_INVALID, "name: this conversation already has a session '%s'", j->row.name);
	return fail_hint(f, "Use that session by its name, or choose another name.");
}

static int claim(struct store_job *job, struct db *db, struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	struct db_query mine = { .sql = "SELECT COUNT(*) FROM sessions WHERE id = $1 AND owner = $2",
				 DB_PARAMS(db_text(j->row.id), db_text(j->row.owner)) };
	uint64_t there = 0;
	job_reset(&j->base);
	/* On a retry, the first attempt may have committed although its connection broke. */
	if (j->base.retried && db_number(db, &mine, &there, f) < 0)
		return -1;
	if (there)
		return 0;
	if (use_warm(j, db, f) < 0 || (j->row.state != ROW_WARM && check_limits(j, db, f) < 0) ||
	    check_name(j, db, f) < 0 || check_user(j, db, f) < 0 || make_room(j, db, f) < 0)
		return -1;
	return insert(db, j->base.key, &j->row, f);
}

static void finish_claim(struct store_job *job, const struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	/* Rows may be read only after the thread has finished with them. */
	bool there = !f || (f == &job->fail && f->kind == FAIL_LIMIT);
	struct session_list list = { .v = there ? job->rows : NULL, .n = there ? job->n : 0 };
	j->claim(j->ctx, &list, f);
}

struct store_job *store_session_claim(struct store *s, const struct session_record *row, const char *warm,
				      const struct claim_limits *limits, store_claim_fn fn, void *ctx)
{
	struct session_job *j = new_job(s, claim, finish_claim, ctx);
	struct store_job *job = &j->base;
	j->row = *row;
	j->row.id = job_keep(job, row->id);
	j->row.thread = job_keep(job, row->thread);
	j->row.runtime = job_keep(job, row->runtime);
	j->row.container = job_keep(job, row->container);
	j->row.image = job_keep(job, row->image);
	j->row.owner = job_keep(job, row->owner);
	j->row.owner_host = job_keep(job, row->owner_host);
	j->row.cause = job_keep(job, row->cause);
	j->row.limits = job_keep(job, row->limits);
	j->row.transport = job_keep(job, row->transport);
	j->row.mark = job_keep(job, row->mark);
	j->row.name = job_keep(job, row->name);
	j->row.labels = job_keep(job, row->labels);
	j->row.engine = job_keep(job, row->engine);
	j->warm = job_keep(job, warm);
	j->limits = *limits;
	j->claim = fn;
	return job_submit_write(job, DB_DURABLE);
}

static int drop(struct store_job *job, struct db *db, struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	struct db_query q = { .sql = "DELETE FROM sessions WHERE id = $1 AND owner = $2",
			      DB_PARAMS(db_text(j->row.id), db_text(j->row.owner)) };
	if (db_exec(db, &q, f) < 0)
		return -1;
	/* On a retry, the first attempt may have committed although its connection broke. */
	return q.changed || j->base.retried ? 0 : fail_set(f, FAIL_NOT_FOUND, "the store has no such row");
}

/* --- update ------------------------------------------------------------------------------------------------------ */

/* An ended session stays ended, and `used` never decreases. */
static int update(struct store_job *job, struct db *db, struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	const struct session_update *u = &j->update;
	struct db_query q = {
		.sql = "UPDATE sessions SET lease_until = $4, used = CASE WHEN $5 > used THEN $5 ELSE used END, busy = $6, "
		       "transport = COALESCE($10, transport), labels = COALESCE($11, labels), "
		       "cause = CASE WHEN state <> 'ended' AND $7 = 'ended' THEN $8 ELSE cause END, "
		       "ended = CASE WHEN state <> 'ended' AND $7 = 'ended' THEN $9 ELSE ended END, state = CASE WHEN state = 'ended' THEN state ELSE COALESCE($7, state) END "
		       "WHERE id = $1 AND owner = $2 AND fence = $3",
		DB_PARAMS(db_text(u->id), db_text(u->owner), db_int(u->epoch), db_int(u->lease_until), db_int(u->used),
			  db_int(u->busy), db_text(row_state_name(u->state)), db_text(u->cause), db_int(store_now_ms()),
			  db_text(u->transport), db_text(u->labels))
	};
	struct db_query there = { .sql = "SELECT COUNT(*) FROM sessions WHERE id = $1", DB_PARAMS(db_text(u->id)) };
	uint64_t known;
	if (db_exec(db, &q, f) < 0)
		return -1;
	if (q.changed)
		return 0;
	if (db_number(db, &there, &known, f) < 0)
		return -1;
	if (known)
		return fail_set(f, FAIL_FOREIGN, "another server has taken over session '%s'", u->id);
	return fail_set(f, FAIL_NOT_FOUND, "the store has no session '%s'", u->id);
}

static void finish_done(struct store_job *job, const struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	job_answer(j->done, j->ctx, "the state of a session was not recorded", f);
}

struct store_job *store_session_drop(struct store *s, const char *id, const char *owner, store_done_fn fn, void *ctx)
{
	struct session_job *j = new_job(s, drop, finish_done, ctx);
	j->row.id = job_keep(&j->base, id);
	j->row.owner = job_keep(&j->base, owner);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

struct store_job *store_session_update(struct store *s, const struct session_update *u, store_done_fn fn, void *ctx)
{
	struct session_job *j = new_job(s, update, finish_done, ctx);
	j->update = *u;
	j->update.id = job_keep(&j->base, u->id);
	j->update.owner = job_keep(&j->base, u->owner);
	j->update.cause = job_keep(&j->base, u->cause);
	j->update.transport = job_keep(&j->base, u->transport);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

/* --- limits ------------------------------------------------------------------------------------------------------ */

static int set_limits(struct store_job *job, struct db *db, struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	char seal[KEY_HASH_SIZE];
	if (select_one(job, db, j->row.id, f) < 0)
		return -1;
	struct session_record *row = job->n ? job->rows : NULL;
	if (!row || row->epoch != j->row.epoch || !streq(row->owner, j->row.owner))
		return fail_set(f, FAIL_FOREIGN, "another server has taken over session '%s'", j->row.id);
	if (row->seal != SEAL_GOOD)
		return fail_set(f, FAIL_STORE, "the store's record of session '%s' has no valid seal", j->row.id);
	row->limits = j->row.limits;
	if (seal_row(job->key, row, seal, f) < 0)
		return -1;
	struct db_query q = {
		.sql = "UPDATE sessions SET limits = $4, seal = $5 WHERE id = $1 AND owner = $2 AND fence = $3",
		DB_PARAMS(db_text(j->row.id), db_text(j->row.owner), db_int(j->row.epoch), db_text(j->row.limits),
			  db_text(seal))
	};
	if (db_exec(db, &q, f) < 0)
		return -1;
	job_reset(job);
	return q.changed ? 0 : fail_set(f, FAIL_FOREIGN, "another server has taken over session '%s'", j->row.id);
}

struct store_job *store_session_set_limits(struct store *s, const struct session_update *u, const char *limits,
					   store_done_fn fn, void *ctx)
{
	struct session_job *j = new_job(s, set_limits, finish_done, ctx);
	j->row.id = job_keep(&j->base, u->id);
	j->row.owner = job_keep(&j->base, u->owner);
	j->row.epoch = u->epoch;
	j->row.limits = job_keep(&j->base, limits);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

/* --- get, list --------------------------------------------------------------------------------------------------- */

static void finish_one(struct store_job *job, const struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	j->one(j->ctx, !f && job->n ? job->rows : NULL, f);
}

static int run_get(struct store_job *job, struct db *db, struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	return select_one(job, db, j->row.id, f);
}

struct store_job *store_session_get(struct store *s, const char *id, store_session_fn fn, void *ctx)
{
	struct session_job *j = new_job(s, run_get, finish_one, ctx);
	j->row.id = job_keep(&j->base, id);
	j->one = fn;
	return job_submit(&j->base);
}

static int run_list(struct store_job *job, struct db *db, struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	return select_list(job, db, j->thread, j->all, f);
}

static void finish_list(struct store_job *job, const struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	struct session_list list = { .v = f ? NULL : job->rows, .n = f ? 0 : job->n };
	j->list(j->ctx, f ? NULL : &list, f);
}

struct store_job *store_sessions(struct store *s, const char *thread, bool all, store_sessions_fn fn, void *ctx)
{
	struct session_job *j = new_job(s, run_list, finish_list, ctx);
	j->thread = job_keep(&j->base, thread);
	j->all = all;
	j->list = fn;
	return job_submit(&j->base);
}

/* --- take over --------------------------------------------------------------------------------------------------- */

static int take_over(struct store_job *job, struct db *db, struct fail *f)
{
	struct session_job *j = container_of(job, struct session_job, base);
	const struct take_over *t = &j->take;
	struct db_query q = {
		.sql = "UPDATE sessions SET owner = $4, owner_host = $5, owner_pid = $6, fence = fence + 1, "
		       "lease_until = $7 WHERE id = $1 AND owner = $2 AND fence = $3 AND state <> 'ended'",
		DB_PARAMS(db_text(t->id), db_text(t->old_owner), db_int(t->old_epoch), db_text(t->new_owner),
			  db_text(t->new_owner_host), db_int(t->new_owner_pid), db_int(t->lease_until))
	};
	job_reset(&j->base);
	if (db_exec(db, &q, f) < 0 || ((q.changed || j->base.retried) && select_one(&j->base, db, t->id, f) < 0))
		return -1;
	/* On a retry, the first attempt may have committed although its connection broke. */
	const struct session_record *found = j->base.n ? j->base.rows : NULL;
	if (found && (!streq(found->owner, t->new_owner) || found->epoch != t->old_epoch + 1))
		job_reset(&j->base);
	return 0;
}

struct store_job *store_session_take_over(struct store *s, const struct take_over *t, store_session_fn fn, void *ctx)
{
	struct session_job *j = new_job(s, take_over, finish_one, ctx);
	j->take = *t;
	j->take.id = job_keep(&j->base, t->id);
	j->take.old_owner = job_keep(&j->base, t->old_owner);
	j->take.new_owner = job_keep(&j->base, t->new_owner);
	j->take.new_owner_host = job_keep(&j->base, t->new_owner_host);
	j->one = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}
