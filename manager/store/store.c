/* Jobs: executed one at a time on one connection, off the loop, and answered within their deadline whatever the
 * database does. */
#include "manager/store/store.h"

#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/work.h"
#include "manager/store/store-private.h"

/* A busy server has a few dozen jobs at a time: renewals, records and requests. */
#define QUEUE_MAX 1024
/* A thread ends this long before its job's deadline, so the job can report the reason. */
#define SPARE_MS 500
#define CONNECT_MS 5000
#define BACK_OFF_MIN_MS 100
#define BACK_OFF_MAX_MS 5000

/* State that a thread may touch while it runs a job; otherwise only the store uses it. */
struct connection {
	struct store *store; /* NULL: the store was freed while the thread was running */
	struct loop *loop;
	struct store_job *job;
	struct db_place place;
	struct key key;
	struct db *db;
	char *id;	     /* the store's id; set with the first connection */
	struct fail failure; /* why the last attempt to connect failed */
	uint64_t retry_ms;   /* no new attempt before this time */
	unsigned failures;
};

struct store {
	struct loop *loop;
	struct connection *connection;
	struct work *work; /* while a job runs */
	struct list queue;
	size_t queued;
	struct list refused; /* jobs that found the queue full, until they are answered */
	struct execution_log *log;
	char *id; /* NULL until a job has succeeded */
	uint64_t failures;
	struct timer *settle;
	void (*on_settled)(void *ctx); /* NULL = no caller waits */
	uint64_t settle_until_ms;
	void *settle_ctx;
};

static void pump(struct store *s);

uint64_t store_now_ms(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000 + loop_skipped_ms();
}

static bool wants_postgres(const struct config *c)
{
	return c->database_url || c->postgres_user || c->postgres_password || c->postgres_db || c->postgres_host;
}

bool store_is_there(const struct config *c)
{
	AUTO(freep) char *path = xasprintf("%s/husk.db", c->state_dir);
	return wants_postgres(c) || access(path, F_OK) == 0;
}

struct execution_log *store_log(struct store *s)
{
	return s->log;
}

uint64_t store_failures(const struct store *s)
{
	return s->failures;
}

const char *store_id(const struct store *s)
{
	return s->id;
}

/* --- jobs -------------------------------------------------------------------------------------------------------- */

static void job_free(struct store_job *job)
{
	timer_free(job->timer);
	if (job->release)
		job->release(job);
	strv_release(&job->strings);
	free(job->rows);
	fail_release(&job->fail);
	free(job);
}

static void unqueue(struct store_job *job)
{
	if (job->queued)
		job->store->queued--;
	job->queued = false;
	list_remove(&job->node);
}

/* Drops a job that nobody waits for. Its memory is kept while a thread or a callback uses it. */
static void drop(struct store_job *job)
{
	atomic_store(&job->dropped, true);
	job->timer = timer_free(job->timer);
	if (job->in_use)
		return;
	unqueue(job);
	job_free(job);
}

static void on_overdue(void *ctx)
{
	struct store_job *job = ctx;
	bool in_use = job->in_use; /* by a thread */
	AUTO(fail_release) struct fail f = { 0 };
	if (!in_use && job->fail.kind) {
		fail_move(&f, &job->fail);
	} else {
		fail_set(&f, FAIL_STORE, "the store did not answer within %u s", STORE_DEADLINE_MS / 1000);
		fail_hint(&f, "try again; if that does not help, run husk doctor");
	}
	if (job->store)
		job->store->failures++;
	unqueue(job);
	atomic_store(&job->dropped, true);
	job->in_use = true;
	job->finish(job, &f);
	job->in_use = in_use;
	drop(job);
}

void *job_new(struct store *s, size_t size, int (*run)(struct store_job *job, struct db *db, struct fail *f),
	      void (*finish)(struct store_job *job, const struct fail *f))
{
	struct store_job *job = xcalloc(1, size);
	list_init(&job->node);
	job->store = s;
	job->run = run;
	job->finish = finish;
	job->timer = timer_new(s->loop, on_overdue, job);
	job->deadline_ms = loop_now_ms() + STORE_DEADLINE_MS;
	return job;
}

struct store_job *job_submit(struct store_job *job)
{
	struct store *s = job->store;
	if (s->queued >= QUEUE_MAX) {
		fail_set(&job->fail, FAIL_STORE, "%u requests are already waiting for the store", QUEUE_MAX);
		fail_hint(&job->fail, "try again later; husk doctor shows whether the store answers");
		list_append(&s->refused, &job->node);
		timer_start(job->timer, 0, 0);
		return job;
	}
	list_append(&s->queue, &job->node);
	job->queued = true;
	s->queued++;
	timer_start(job->timer, STORE_DEADLINE_MS, 0);
	pump(s);
	return job;
}

struct store_job *job_submit_write(struct store_job *job, enum db_durability durability)
{
	job->writes = true;
	job->durability = durability;
	return job_submit(job);
}

void store_cancel(struct store_job *job)
{
	if (job)
		drop(job);
}

const char *job_keep(struct store_job *job, const char *text)
{
	if (!text)
		return NULL;
	strv_add(&job->strings, text);
	return job->strings.v[job->strings.n - 1];
}

void *job_row(struct store_job *job)
{
	job->rows = xrealloc(job->rows, (job->n + 1) * job->size);
	void *row = (char *)job->rows + job->n++ * job->size;
	memset(row, 0, job->size);
	return row;
}

void job_reset(struct store_job *job)
{
	job->n = 0;
}

int job_select(struct store_job *job, struct db *db, struct db_query q, db_row_fn on_row, struct fail *f)
{
	job_reset(job);
	q.on_row = on_row;
	q.ctx = job;
	return db_exec(db, &q, f);
}

struct guarded {
	struct store_job *job;
	int (*body)(struct store_job *job, struct db *db, struct fail *f);
};

/* Rolls the transaction back if the job was dropped in the meantime. */
static int unless_dropped(struct db *db, void *ctx, struct fail *f)
{
	struct guarded *g = ctx;
	if (g->body(g->job, db, f) < 0)
		return -1;
	return atomic_load(&g->job->dropped) ?
		       fail_set(f, FAIL_CANCELLED, "nobody is waiting for the result any more") :
		       0;
}

int job_transaction(struct store_job *job, struct db *db, enum db_durability durability,
		    int (*body)(struct store_job *job, struct db *db, struct fail *f), struct fail *f)
{
	return db_transaction(db, durability, unless_dropped, &(struct guarded){ job, body }, f);
}

void job_answer(store_done_fn fn, void *ctx, const char *what, const struct fail *f)
{
	if (fn)
		fn(ctx, f);
	else if (f)
		log_warning("%s: %s", what, f->message);
}

/* --- the store's id ---------------------------------------------------------------------------------------------- */

struct identify_job {
	struct store_job base;
	store_done_fn fn;
	void *ctx;
};

/* Connecting has already read the id. */
static int run_identify(struct store_job *job UNUSED, struct db *db UNUSED, struct fail *f UNUSED)
{
	return 0;
}

static void finish_identify(struct store_job *job, const struct fail *f)
{
	struct identify_job *j = container_of(job, struct identify_job, base);
	job_answer(j->fn, j->ctx, "the store was not opened", f);
}

struct store_job *store_identify(struct store *s, store_done_fn fn, void *ctx)
{
	struct identify_job *j = job_new(s, sizeof(*j), run_identify, finish_identify);
	j->fn = fn;
	j->ctx = ctx;
	return job_submit(&j->base);
}

/* --- in a thread ------------------------------------------------------------------------------------------------- */

static void disconnect(struct connection *c)
{
	if (c->db)
		c->db->ops->close(c->db);
	c->db = NULL;
}

static int connect_now(struct connection *c, uint64_t deadline_ms, struct fail *f)
{
	uint64_t until = MIN(deadline_ms, loop_now_ms() + CONNECT_MS);
	if ((c->place.postgres ? postgres_open : sqlite_open)(&c->db, &c->place, until, f) < 0)
		return -1;
	c->db->deadline_ms = deadline_ms;
	if (schema_migrate(c->db, &c->id, f) == 0)
		return 0;
	disconnect(c);
	return -1;
}

/* While the store is down, each attempt to connect may take its whole deadline. Until the next attempt is due, jobs
 * fail at once with the last error. */
static int ensure_connected(struct connection *c, uint64_t deadline_ms, struct fail *f)
{
	if (c->db) {
		c->db->deadline_ms = deadline_ms;
		return 0;
	}
	if (c->failure.kind && loop_now_ms() < c->retry_ms) {
		fail_copy(f, &c->failure);
		return -1;
	}
	if (connect_now(c, deadline_ms, f) == 0) {
		fail_release(&c->failure);
		c->failures = 0;
		return 0;
	}
	fail_copy(&c->failure, f);
	c->retry_ms = loop_now_ms() + MIN(BACK_OFF_MIN_MS << MIN(c->failures, 10u), BACK_OFF_MAX_MS);
	c->failures++;
	return -1;
}

/* True if the job should be retried on a new connection. */
static bool attempt(struct connection *c)
{
	struct store_job *job = c->job;
	uint64_t deadline_ms = job->deadline_ms - SPARE_MS;
	if (ensure_connected(c, deadline_ms, &job->fail) < 0)
		return false;
	int r = job->writes ? job_transaction(job, c->db, job->durability, job->run, &job->fail) :
			      job->run(job, c->db, &job->fail);
	bool broken = c->db->broken;
	if (broken)
		disconnect(c);
	return r < 0 && broken && loop_now_ms() < deadline_ms;
}

/* A restart of the database is noticed only when the old connection is used, so a job is tried twice. */
static void run_job(void *ctx)
{
	struct connection *c = ctx;
	struct store_job *job = c->job;
	if (atomic_load(&job->dropped) || !attempt(c))
		return;
	fail_release(&job->fail);
	job->retried = true;
	attempt(c);
}

static void run_close(void *ctx)
{
	disconnect(ctx);
}

/* --- on the loop ------------------------------------------------------------------------------------------------- */

static void place_release(struct db_place *p)
{
	free(p->path);
	free(p->url);
	free(p->user);
	free(p->password);
	free(p->name);
	free(p->host);
	free(p->port);
}

static void connection_free(struct connection *c)
{
	place_release(&c->place);
	key_release(&c->key);
	fail_release(&c->failure);
	free(c->id);
	free(c);
}

static void on_closed(void *ctx, bool forgotten UNUSED)
{
	connection_free(ctx);
}

/* Closing may block, so it is done off the loop. */
static void connection_retire(struct connection *c)
{
	if (!c->db)
		connection_free(c);
	else
		work_start(c->loop, &(struct work_spec){ .fn = run_close, .on_done = on_closed, .ctx = c });
}

static bool is_settled(const struct store *s)
{
	return !s->work && list_empty(&s->queue) && execution_log_is_idle(s->log);
}

static void on_settle(void *ctx)
{
	struct store *s = ctx;
	uint64_t now = loop_now_ms();
	/* The caller may have queued more jobs since. */
	if (!is_settled(s) && now < s->settle_until_ms) {
		timer_start(s->settle, s->settle_until_ms - now, 0);
		return;
	}
	void (*fn)(void *) = take_ptr(s->on_settled);
	if (fn)
		fn(s->settle_ctx);
}

static void check_settled(struct store *s)
{
	if (s->on_settled && is_settled(s))
		timer_start(s->settle, 0, 0);
}

void store_settle(struct store *s, uint64_t ms, void (*fn)(void *ctx), void *ctx)
{
	s->on_settled = fn;
	s->settle_ctx = ctx;
	s->settle_until_ms = loop_now_ms() + ms;
	timer_start(s->settle, ms, 0);
	execution_log_flush(s->log);
	check_settled(s);
}

static void on_job_done(void *ctx, bool forgotten UNUSED)
{
	struct connection *c = ctx;
	struct store_job *job = c->job;
	if (c->store && c->id && !c->store->id && !job->fail.kind)
		c->store->id = xstrdup(c->id);
	if (c->store && job->fail.kind == FAIL_STORE)
		c->store->failures++;
	if (!atomic_load(&job->dropped)) {
		job->timer = timer_free(job->timer);
		/* The callback may queue more jobs, cancel this one or free the store. */
		job->finish(job, job->fail.kind ? &job->fail : NULL);
	}
	job_free(job);
	c->job = NULL;
	if (!c->store) {
		connection_retire(c);
		return;
	}
	c->store->work = NULL;
	pump(c->store);
	check_settled(c->store);
}

static void pump(struct store *s)
{
	struct store_job *job = list_first(&s->queue, struct store_job, node);
	if (s->work || !job)
		return;
	unqueue(job);
	job->in_use = true;
	job->key = &s->connection->key;
	s->connection->job = job;
	s->work =
		work_start(s->loop, &(struct work_spec){ .fn = run_job, .on_done = on_job_done, .ctx = s->connection });
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static void place_fill(struct db_place *p, const struct config *c)
{
	p->path = xasprintf("%s/husk.db", c->state_dir);
	p->postgres = wants_postgres(c);
	p->url = copy(c->database_url);
	p->user = copy(c->postgres_user);
	p->password = copy(c->postgres_password);
	p->name = copy(c->postgres_db);
	p->host = copy(c->postgres_host);
	p->port = xasprintf("%llu", (unsigned long long)c->postgres_port);
}

char *store_describe(const struct config *config)
{
	struct db_place place = { 0 };
	place_fill(&place, config);
	char *text = place.postgres ? postgres_describe(&place) : xasprintf("SQLite, %s", place.path);
	place_release(&place);
	return text;
}

struct store *store_new(struct loop *loop, const struct config *config)
{
	struct store *s = new0(struct store);
	s->loop = loop;
	list_init(&s->queue);
	list_init(&s->refused);
	s->connection = new0(struct connection);
	s->connection->store = s;
	s->connection->loop = loop;
	place_fill(&s->connection->place, config);
	key_init(&s->connection->key, config->encryption_key, config->state_dir);
	s->log = execution_log_new(s, loop);
	s->settle = timer_new(loop, on_settle, s);
	return s;
}

struct store *store_free(struct store *s)
{
	if (!s)
		return NULL;
	execution_log_free(s->log);
	timer_free(s->settle);
	list_for_each(job, &s->queue, struct store_job, node)
		drop(job);
	list_for_each(job, &s->refused, struct store_job, node)
		drop(job);
	s->connection->store = NULL;
	if (s->work) {
		drop(s->connection->job);
		work_forget(s->work);
	} else {
		connection_retire(s->connection);
	}
	free(s->id);
	free(s);
	return NULL;
}
