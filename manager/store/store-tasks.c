/* Tasks: runs whose caller got a handle instead of a result, and their sealed results. */
#include "base/alloc.h"
#include "manager/store/store-private.h"

#define COLUMNS "id, thread, session, seq, tool, timeout, state, started, created, changed, expires, face"
#define TASKS_MAX 1000
/* How long an expired task is remembered. */
#define EXPIRED_KEPT_MS 86400000

static const char *const states[] = {
	[TASK_WORKING] = "working",
	[TASK_CANCELLING] = "cancelling",
	[TASK_ENDED] = "ended",
	[TASK_CANCELLED] = "cancelled",
};

struct task_job {
	struct store_job base;
	struct task_record row;
	char *result; /* unsealed; owned by the job */
	store_done_fn done;
	store_task_fn fn;
	store_tasks_fn list;
	void *ctx;
};

static struct task_job *task_job_of(struct store_job *job)
{
	return container_of(job, struct task_job, base);
}

static void release(struct store_job *job)
{
	free(task_job_of(job)->result);
}

static enum task_state state_of(const struct db_value *v)
{
	for (size_t i = 0; v->kind == DB_TEXT && i < ARRAY_LEN(states); i++)
		if (streq(states[i], v->text))
			return (enum task_state)i;
	return TASK_WORKING;
}

static void take_row(void *ctx, const struct db_value *v, size_t n)
{
	struct store_job *job = ctx;
	*(struct task_record *)job_row(job) = (struct task_record){
		.id = column_text(job, &v[0]),
		.thread = column_text(job, &v[1]),
		.session = column_text(job, &v[2]),
		.seq = column_int(&v[3]),
		.tool = column_text(job, &v[4]),
		.timeout = column_int(&v[5]),
		.state = state_of(&v[6]),
		.started = column_int(&v[7]),
		.created = column_int(&v[8]),
		.changed = column_int(&v[9]),
		.expires = column_int(&v[10]),
		.face = column_text(job, &v[11]),
		.result = n > 12 ? column_text(job, &v[12]) : NULL,
	};
}

static struct task_job *new_job(struct store *s, const struct task_record *row,
				int (*run)(struct store_job *job, struct db *db, struct fail *f),
				void (*finish)(struct store_job *job, const struct fail *f), void *ctx)
{
	struct task_job *j = job_new(s, sizeof(*j), run, finish);
	j->base.size = sizeof(struct task_record);
	j->base.release = release;
	j->row = *row;
	j->row.id = job_keep(&j->base, row->id);
	j->row.thread = job_keep(&j->base, row->thread);
	j->row.session = job_keep(&j->base, row->session);
	j->row.tool = job_keep(&j->base, row->tool);
	j->row.face = job_keep(&j->base, row->face);
	j->row.result = job_keep(&j->base, row->result);
	j->ctx = ctx;
	return j;
}

static void finish_done(struct store_job *job, const struct fail *f)
{
	struct task_job *j = task_job_of(job);
	job_answer(j->done, j->ctx, "a task was not recorded", f);
}

/* --- written ----------------------------------------------------------------------------------------------------- */

static int add(struct store_job *job, struct db *db, struct fail *f)
{
	struct task_job *j = task_job_of(job);
	const struct task_record *r = &j->row;
	uint64_t now = store_now_ms();
	struct db_query drop = { .sql = "DELETE FROM tasks WHERE expires > 0 AND expires < $1",
				 DB_PARAMS(db_int(now - MIN(now, (uint64_t)EXPIRED_KEPT_MS))) };
	struct db_query insert = {
		.sql = "INSERT INTO tasks (" COLUMNS
		       ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING",
		DB_PARAMS(db_text(r->id), db_text(r->thread), db_text(r->session), db_int(r->seq), db_text(r->tool),
			  db_int(r->timeout), db_text(states[r->state]), db_int(r->started), db_int(r->created),
			  db_int(r->changed), db_int(r->expires), db_text(r->face))
	};
	return db_exec(db, &drop, f) < 0 ? -1 : db_exec(db, &insert, f);
}

struct store_job *store_task_add(struct store *s, const struct task_record *row, store_done_fn fn, void *ctx)
{
	struct task_job *j = new_job(s, row, add, finish_done, ctx);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

/* The first recorded end wins. */
static int change(struct store_job *job, struct db *db, struct fail *f)
{
	struct task_job *j = task_job_of(job);
	const struct task_record *r = &j->row;
	AUTO(freep) char *sealed = NULL;
	if (r->result && key_seal(j->base.key, r->id, r->result, &sealed, f) < 0)
		return -1;
	struct db_query q = {
		.sql = "UPDATE tasks SET state = $2, changed = $3, result = $4 WHERE id = $1 AND (state = 'working' OR state = 'cancelling')",
		DB_PARAMS(db_text(r->id), db_text(states[r->state]), db_int(r->changed), db_text(sealed))
	};
	return db_exec(db, &q, f);
}

struct store_job *store_task_change(struct store *s, const struct task_record *row, store_done_fn fn, void *ctx)
{
	struct task_job *j = new_job(s, row, change, finish_done, ctx);
	j->done = fn;
	return job_submit_write(&j->base, DB_DURABLE);
}

static int remove_row(struct store_job *job, struct db *db, struct fail *f)
{
	struct task_job *j = task_job_of(job);
	struct db_query q = { .sql = "DELETE FROM tasks WHERE id = $1", DB_PARAMS(db_text(j->row.id)) };
	return db_exec(db, &q, f);
}

void store_task_remove(struct store *s, const char *id)
{
	struct task_job *j = new_job(s, &(struct task_record){ .id = id }, remove_row, finish_done, NULL);
	(void)job_submit_write(&j->base, DB_DURABLE);
}

/* --- read -------------------------------------------------------------------------------------------------------- */

static int run_get(struct store_job *job, struct db *db, struct fail *f)
{
	struct task_job *j = task_job_of(job);
	struct db_query q = { .sql = "SELECT " COLUMNS ", result FROM tasks WHERE id = $1 AND thread = $2",
			      DB_PARAMS(db_text(j->row.id), db_text(j->row.thread)) };
	free(take_ptr(j->result));
	if (job_select(job, db, q, take_row, f) < 0)
		return -1;
	struct task_record *found = job->n ? job->rows : NULL;
	if (!found || !found->result)
		return 0;
	if (key_open(job->key, found->id, found->result, &j->result, f) < 0)
		return -1;
	found->result = j->result;
	return 0;
}

static void finish_get(struct store_job *job, const struct fail *f)
{
	struct task_job *j = task_job_of(job);
	j->fn(j->ctx, !f && job->n ? job->rows : NULL, f);
}

struct store_job *store_task_get(struct store *s, const char *thread, const char *id, store_task_fn fn, void *ctx)
{
	struct task_job *j = new_job(s, &(struct task_record){ .id = id, .thread = thread }, run_get, finish_get, ctx);
	j->fn = fn;
	return job_submit(&j->base);
}

static int run_list(struct store_job *job, struct db *db, struct fail *f)
{
	struct task_job *j = task_job_of(job);
	struct db_query q = { .sql = "SELECT " COLUMNS " FROM tasks WHERE session = $1 ORDER BY seq DESC LIMIT $2",
			      DB_PARAMS(db_text(j->row.session), db_int(TASKS_MAX)) };
	return job_select(job, db, q, take_row, f);
}

static void finish_list(struct store_job *job, const struct fail *f)
{
	struct task_job *j = task_job_of(job);
	struct task_list list = { .v = job->rows, .n = f ? 0 : job->n };
	j->list(j->ctx, f ? NULL : &list, f);
}

struct store_job *store_tasks(struct store *s, const char *session, store_tasks_fn fn, void *ctx)
{
	struct task_job *j = new_job(s, &(struct task_record){ .session = session }, run_list, finish_list, ctx);
	j->list = fn;
	return job_submit(&j->base);
}
