/* The log of executions. Records are written in order and in batches. They wait here while the store is down,
 * without affecting the callers. */
#include "base/alloc.h"
#include "base/log.h"
#include "manager/store/chain.h"
#include "manager/store/store-private.h"

/* Enough for hours without a store, at the rate at which a model starts runs. */
#define WAITING_MAX 4096
#define BATCH_MAX 256
#define RETRY_MS 1000
/* How long a record waits for others, so that a burst of short runs needs only one transaction. */
#define GATHER_MS 50
#define EXECUTIONS_MAX 100000
/* At most this many missing numbers are filled in, because numbers come from PID 1 and are untrusted. */
#define UNRECORDED_MAX 256

struct waiting {
	struct list node;
	uint64_t number;
	struct execution_record record;
};

struct execution_log {
	struct store *store;
	struct timer *retry;
	struct timer *gather;
	struct list waiting;
	size_t n;
	uint64_t last_number;
	uint64_t carried; /* records up to this number are or were in a flush */
	uint64_t dropped;
	struct store_job *flush; /* the running flush */
};

struct flush_job {
	struct store_job base;
	struct execution_log *log;
	uint64_t last_number; /* last number of the records in its rows */
};

struct list_job {
	struct store_job base;
	uint64_t before;
	const char *session;
	uint64_t limit;
	store_executions_fn fn;
	void *ctx;
};

static void flush(struct execution_log *log);

/* --- writing ----------------------------------------------------------------------------------------------------- */

static void waiting_free(struct execution_log *log, struct waiting *w)
{
	list_remove(&w->node);
	log->n--;
	free((char *)w->record.session);
	free((char *)w->record.tool);
	free((char *)w->record.ending);
	free((char *)w->record.env);
	free(w);
}

/* Keeps known values: the record of an end may have fewer fields than that of the start. */
static int merge_row(struct chain *chain, const struct execution_record *e, const struct db_value *columns, size_t n,
		     const char *item, struct fail *f)
{
	struct db_query q = {
		.sql = "INSERT INTO executions (" EXECUTION_COLUMNS ") "
		       "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (session, seq) DO UPDATE SET tool = CASE WHEN executions.tool = '" TOOL_UNKNOWN
		       "' THEN excluded.tool ELSE executions.tool END, ended = CASE WHEN excluded.ended > 0 THEN excluded.ended ELSE executions.ended END, "
		       "ending = COALESCE(excluded.ending, executions.ending), in_bytes = CASE WHEN excluded.in_bytes > 0 THEN excluded.in_bytes ELSE executions.in_bytes END, "
		       "out_bytes = CASE WHEN excluded.out_bytes > 0 THEN excluded.out_bytes ELSE executions.out_bytes END, "
		       "env = COALESCE(excluded.env, executions.env) RETURNING " EXECUTION_COLUMNS,
		.params = columns,
		.n = n
	};
	if (chain_exec(chain, &q, e->session, CHAIN_EXECUTION, 1, f) < 0)
		return -1;
	return chain->written ? 0 : chain_note_swallowed(chain, e->session, CHAIN_EXECUTION, item, f);
}

/* Most rows are new. The database then stores the columns as they are, and need not return them. */
static int write_row(struct chain *chain, const struct execution_record *e, struct fail *f)
{
	const struct db_value columns[] = { db_text(e->session), db_int(e->seq),       db_text(e->tool),
					    db_int(e->started),	 db_int(e->ended),     db_text(e->ending),
					    db_int(e->in_bytes), db_int(e->out_bytes), db_text(e->env) };
	struct db_query q = {
		.sql = "INSERT INTO executions (" EXECUTION_COLUMNS ") "
		       "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (session, seq) DO NOTHING",
		.params = columns,
		.n = ARRAY_LEN(columns)
	};
	char item[32];
	snprintf(item, sizeof(item), "%llu", (unsigned long long)e->seq);
	if (db_exec(chain->db, &q, f) < 0)
		return -1;
	if (!q.changed)
		return merge_row(chain, e, columns, ARRAY_LEN(columns), item, f);
	return chain_add_row(chain, columns, ARRAY_LEN(columns), e->session, CHAIN_EXECUTION, item, f);
}

/* Records are written in the order of their numbers, so a killed server leaves out only the last ones. */
static int write_up_to(struct chain *chain, const struct execution_record *e, struct fail *f)
{
	struct db_query q = { .sql = "SELECT COALESCE(MAX(seq), 0) FROM executions WHERE session = $1",
			      DB_PARAMS(db_text(e->session)) };
	uint64_t last;
	if (db_number(chain->db, &q, &last, f) < 0)
		return -1;
	struct execution_record row = *e;
	for (row.seq = last + 1; row.seq <= e->seq && row.seq <= last + UNRECORDED_MAX; row.seq++)
		if (write_row(chain, &row, f) < 0)
			return -1;
	return 0;
}

static int write_all(struct store_job *job, struct db *db, struct fail *f)
{
	const struct execution_record *rows = job->rows;
	AUTO(chain_release) struct chain chain = { .db = db, .key = job->key };
	if (chain_begin(&chain, store_now_ms(), f) < 0)
		return -1;
	for (size_t i = 0; i < job->n; i++)
		if ((rows[i].up_to ? write_up_to(&chain, &rows[i], f) : write_row(&chain, &rows[i], f)) < 0)
			return -1;
	return chain_end(&chain, f);
}

static void on_retry(void *ctx)
{
	flush(ctx);
}

static void report_dropped(struct execution_log *log)
{
	if (log->dropped)
		log_warning("the store was down for too long: %llu records of executions were dropped",
			    (unsigned long long)log->dropped);
	log->dropped = 0;
}

static void finish_flush(struct store_job *job, const struct fail *f)
{
	struct flush_job *j = container_of(job, struct flush_job, base);
	struct execution_log *log = j->log;
	log->flush = NULL;
	if (f) {
		log_debug("executions wait for the store: %s", f->message);
		timer_start(log->retry, RETRY_MS, 0);
		return;
	}
	list_for_each(w, &log->waiting, struct waiting, node) {
		if (w->number > j->last_number)
			break;
		waiting_free(log, w);
	}
	report_dropped(log);
	flush(log);
}

static void flush(struct execution_log *log)
{
	timer_stop(log->gather);
	if (log->flush || timer_active(log->retry) || list_empty(&log->waiting))
		return;
	struct flush_job *j = job_new(log->store, sizeof(*j), write_all, finish_flush);
	j->log = log;
	j->base.size = sizeof(struct execution_record);
	list_for_each(w, &log->waiting, struct waiting, node) {
		if (j->base.n == BATCH_MAX)
			break;
		struct execution_record *row = job_row(&j->base);
		*row = w->record;
		row->session = job_keep(&j->base, w->record.session);
		row->tool = job_keep(&j->base, w->record.tool);
		row->ending = job_keep(&j->base, w->record.ending);
		row->env = job_keep(&j->base, w->record.env);
		j->last_number = w->number;
	}
	log->carried = j->last_number;
	log->flush = job_submit_write(&j->base, DB_RELAXED);
}

/* Finds the record of the run's start if it still waits. It is then completed, and one row is written instead of
 * two. */
static struct waiting *find_start(struct execution_log *log, const struct execution_record *e)
{
	for (struct list *at = log->waiting.prev; at != &log->waiting; at = at->prev) {
		struct waiting *w = list_entry(at, struct waiting, node);
		if (w->number <= log->carried)
			break;
		if (w->record.seq == e->seq && !w->record.ending && !w->record.up_to &&
		    streq(w->record.session, e->session))
			return w;
	}
	return NULL;
}

static void complete(struct waiting *w, const struct execution_record *e)
{
	w->record.ended = e->ended;
	w->record.ending = xstrdup(e->ending);
	w->record.in_bytes = MAX(w->record.in_bytes, e->in_bytes);
	w->record.out_bytes = e->out_bytes;
	if (!w->record.env && e->env)
		w->record.env = xstrdup(e->env);
}

void store_execution_put(struct store *s, const struct execution_record *e)
{
	struct execution_log *log = store_log(s);
	struct waiting *start = e->ending ? find_start(log, e) : NULL;
	if (start) {
		complete(start, e);
		return;
	}
	if (log->n == WAITING_MAX) {
		waiting_free(log, list_first(&log->waiting, struct waiting, node));
		log->dropped++;
	}
	struct waiting *w = new0(struct waiting);
	w->number = ++log->last_number;
	w->record = *e;
	w->record.session = xstrdup(e->session);
	w->record.tool = xstrdup(e->tool);
	w->record.ending = e->ending ? xstrdup(e->ending) : NULL;
	w->record.env = e->env ? xstrdup(e->env) : NULL;
	list_append(&log->waiting, &w->node);
	log->n++;
	if (e->at_once || log->n >= BATCH_MAX)
		flush(log);
	else if (!timer_active(log->gather))
		timer_start(log->gather, GATHER_MS, 0);
}

void execution_log_flush(struct execution_log *log)
{
	flush(log);
}

struct execution_log *execution_log_new(struct store *s, struct loop *loop)
{
	struct execution_log *log = new0(struct execution_log);
	log->store = s;
	log->retry = timer_new(loop, on_retry, log);
	log->gather = timer_new(loop, on_retry, log);
	list_init(&log->waiting);
	return log;
}

bool execution_log_is_idle(const struct execution_log *log)
{
	return list_empty(&log->waiting) || timer_active(log->retry);
}

struct execution_log *execution_log_free(struct execution_log *log)
{
	store_cancel(log->flush);
	timer_free(log->retry);
	timer_free(log->gather);
	list_for_each(w, &log->waiting, struct waiting, node)
		waiting_free(log, w);
	free(log);
	return NULL;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static void take_row(void *ctx, const struct db_value *v, size_t n UNUSED)
{
	struct store_job *job = ctx;
	*(struct execution_record *)job_row(job) = (struct execution_record){
		.session = column_text(job, &v[0]),
		.seq = column_int(&v[1]),
		.tool = column_text(job, &v[2]),
		.started = column_int(&v[3]),
		.ended = column_int(&v[4]),
		.ending = column_text(job, &v[5]),
		.in_bytes = column_int(&v[6]),
		.out_bytes = column_int(&v[7]),
		.env = column_text(job, &v[8]),
	};
}

static int run_list(struct store_job *job, struct db *db, struct fail *f)
{
	struct list_job *j = container_of(job, struct list_job, base);
	struct db_query q = {
		.sql = "SELECT " EXECUTION_COLUMNS
		       " FROM (SELECT * FROM executions WHERE session = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3) AS newest "
		       "ORDER BY seq",
		DB_PARAMS(db_text(j->session), db_int(j->before), db_int(j->limit))
	};
	return job_select(job, db, q, take_row, f);
}

static void finish_list(struct store_job *job, const struct fail *f)
{
	struct list_job *j = container_of(job, struct list_job, base);
	struct execution_list list = { .v = f ? NULL : job->rows, .n = f ? 0 : job->n };
	j->fn(j->ctx, f ? NULL : &list, f);
}

struct store_job *store_executions(struct store *s, const char *session, uint64_t before, uint64_t limit,
				   store_executions_fn fn, void *ctx)
{
	execution_log_flush(store_log(s));
	struct list_job *j = job_new(s, sizeof(*j), run_list, finish_list);
	j->base.size = sizeof(struct execution_record);
	j->session = job_keep(&j->base, session);
	j->before = before && before < INT64_MAX ? before : INT64_MAX;
	j->limit = MIN(limit, EXECUTIONS_MAX);
	j->fn = fn;
	j->ctx = ctx;
	return job_submit(&j->base);
}
