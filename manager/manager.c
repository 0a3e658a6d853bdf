/* The registry of sessions and the operations on it. */
#include "manager/manager.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "manager/advice.h"
#include "manager/manager-private.h"
#include "manager/thread.h"

/* Dead sessions stay known so that the next call hears the cause; the oldest are forgotten. */
#define DEAD_SESSIONS_MAX 64
#define WATCH_CHECK_MS 1000

struct op {
	struct list node;
	struct manager *manager;
	struct session *session; /* NULL once it is not needed */
	enum { OP_CREATE, OP_RUN, OP_STOP, OP_TASK } kind;
	struct run *run; /* OP_RUN; owned by the op unless it was abandoned */
	struct create_request create;
	struct run_request request;
	struct stop_request stop;
	const struct task_ops *task; /* OP_TASK */
	void *task_ctx;
};

/* The run behind an op, with what its live output needs. */
struct op_run {
	struct run run;
	struct op *op;
	struct buf partial[2]; /* an unfinished UTF-8 sequence at the end of a piece of output */
};

static void on_watch_closed(void *ctx);

static struct op *op_new(struct manager *m, struct session *s, int kind)
{
	struct op *op = new0(struct op);
	op->manager = m;
	op->session = s;
	op->kind = kind;
	list_append(&m->ops, &op->node);
	return op;
}

static void op_free(struct op *op)
{
	list_remove(&op->node);
	if (op->task)
		op->task->free(op->task_ctx);
	free(op);
}

static struct op *find_op(struct manager *m, struct session *s, int kind)
{
	list_for_each(op, &m->ops, struct op, node)
		if (op->session == s && (int)op->kind == kind)
			return op;
	return NULL;
}

/* --- the engine's events ----------------------------------------------------------------------------------------- */

static void on_engine_event(void *ctx, const struct engine_event *event)
{
	struct manager *m = ctx;
	list_for_each(s, &m->sessions, struct session, node) {
		if (streq(s->container, event->container)) {
			session_on_event(s, event);
			return;
		}
	}
}

static void watch_start(struct manager *m)
{
	struct watch_handler handler = { .on_event = on_engine_event, .on_closed = on_watch_closed, .ctx = m };
	AUTO(fail_release) struct fail f = { 0 };
	if (m->watch)
		return;
	m->watch = m->engine->ops->watch(m->engine, m->owner, &handler, &f);
	if (m->watch)
		return;
	log_debug("no engine events: %s", f.message);
	timer_start(m->watch_check, WATCH_CHECK_MS, 0);
}

static size_t live_sessions(const struct manager *m)
{
	size_t n = 0;
	list_for_each(s, &m->sessions, struct session, node)
		n += s->state != SESSION_DEAD;
	return n;
}

static void forget_old_dead(struct manager *m)
{
	size_t dead = 0;
	list_for_each(s, &m->sessions, struct session, node)
		dead += s->state == SESSION_DEAD;
	list_for_each(s, &m->sessions, struct session, node) {
		if (dead <= DEAD_SESSIONS_MAX)
			return;
		if (s->state == SESSION_DEAD && !s->task) {
			session_free(s);
			dead--;
		}
	}
}

/* The feed runs while there is a session to hear of: its process would outlive a server that is killed. */
static void on_watch_check(void *ctx)
{
	struct manager *m = ctx;
	forget_old_dead(m);
	if (live_sessions(m))
		watch_start(m);
	else
		m->watch = m->engine->ops->watch_free(m->watch);
}

static void on_watch_closed(void *ctx)
{
	struct manager *m = ctx;
	m->watch = m->engine->ops->watch_free(m->watch);
	timer_start(m->watch_check, WATCH_CHECK_MS, 0);
}

/* --- sessions ---------------------------------------------------------------------------------------------------- */

static void info_fill(const struct session *s, struct session_info *info)
{
	uint64_t now = loop_now_ms();
	*info = (struct session_info){
		.id = s->id,
		.runtime = s->runtime->name,
		.status = session_state_name(s),
		.age_seconds = (now - s->created_ms) / 1000,
		.idle_seconds = list_empty(&s->runs) ? (now - s->used_ms) / 1000 : 0,
	};
}

void manager_each_session(struct manager *m, void (*fn)(void *ctx, const struct session_info *info), void *ctx)
{
	list_for_each(s, &m->sessions, struct session, node) {
		struct session_info info;
		info_fill(s, &info);
		if (s->state != SESSION_STOPPING)
			fn(ctx, &info);
	}
}

static void on_ready(void *ctx, struct session *s)
{
	struct manager *m = ctx;
	struct op *op = find_op(m, s, OP_CREATE);
	struct session_info info;
	if (!op)
		return;
	info_fill(s, &info);
	op->create.on_done(op->create.ctx, &info, NULL);
	op_free(op);
}

static void on_dead(void *ctx, struct session *s)
{
	struct manager *m = ctx;
	struct op *op = find_op(m, s, OP_CREATE);
	/* Which also forgets the oldest dead ones: not here, where somebody may be walking the list. */
	timer_start(m->watch_check, WATCH_CHECK_MS, 0);
	if (!op)
		return;
	/* Nobody ever learnt its id: it goes away once its remains are removed. */
	session_stop(s);
	op->create.on_done(op->create.ctx, NULL, &s->death);
	op_free(op);
}

/* Somebody stopped it by the id that an error had listed, before its create was answered. */
static void answer_create(struct manager *m, struct session *s)
{
	struct op *op = find_op(m, s, OP_CREATE);
	AUTO(fail_release) struct fail f = { 0 };
	if (!op)
		return;
	fail_set(&f, FAIL_CANCELLED, "stop_session ended the session while it started");
	op->create.on_done(op->create.ctx, NULL, &f);
	op_free(op);
}

static void on_stopped(void *ctx, struct session *s, const struct fail *f)
{
	struct manager *m = ctx;
	struct op *op;
	bool asked_for = false;
	timer_start(m->watch_check, WATCH_CHECK_MS, 0);
	answer_create(m, s);
	while ((op = find_op(m, s, OP_STOP))) {
		asked_for = true;
		op->stop.on_done(op->stop.ctx, f);
		op_free(op);
	}
	/* A removal that failed can be asked for again. */
	if (f && asked_for)
		session_keep_dead(s, f);
	else
		session_free(s);
}

/* Ends what nobody has used for SESSION_IDLE_TTL_SECONDS. A session with a run on it is in use. */
static void on_gc(void *ctx)
{
	struct manager *m = ctx;
	uint64_t now = loop_now_ms(), ttl = m->config->idle_ttl;
	list_for_each(s, &m->sessions, struct session, node) {
		if (s->state != SESSION_READY || !list_empty(&s->runs) || now - s->used_ms < ttl * 1000)
			continue;
		AUTO(fail_release) struct fail f = { 0 };
		fail_set(&f, FAIL_DIED, "ended after %llu s without use (SESSION_IDLE_TTL_SECONDS)",
			 (unsigned long long)ttl);
		session_end(s, &f);
	}
	if (!live_sessions(m))
		timer_stop(m->gc);
}

static int check_limits(struct manager *m, struct fail *f)
{
	uint64_t live = live_sessions(m);
	if (live >= m->config->max_sessions) {
		fail_set(f, FAIL_LIMIT, "Maximum number of sessions (%llu) reached. Stop an existing session first.",
			 (unsigned long long)m->config->max_sessions);
		return fail_hint(f,
				 "Use one of the active sessions, stop one of them, or raise CONTAINER_MAX_SESSIONS.");
	}
	if (live >= m->config->max_sessions_per_thread) {
		fail_set(f, FAIL_LIMIT,
			 "Maximum sessions per conversation (%llu) reached. Stop an existing session first.",
			 (unsigned long long)m->config->max_sessions_per_thread);
		return fail_hint(f, "Use one of the active sessions, stop one of them, or raise "
				    "CONTAINER_MAX_SESSIONS_PER_THREAD.");
	}
	return 0;
}

struct op *manager_create(struct manager *m, const struct create_request *req, struct fail *f)
{
	if (check_limits(m, f) < 0)
		return NULL;
	watch_start(m);
	if (!timer_active(m->gc))
		timer_start(m->gc, m->config->gc_interval * 1000, m->config->gc_interval * 1000);
	struct session *s = session_new(&(struct session_params){
		.loop = m->loop,
		.engine = m->engine,
		.config = m->config,
		.runtime = req->runtime,
		.image = runtime_image(req->runtime, m->config),
		.owner_id = m->owner,
		.thread = manager_thread(m),
		.network = req->network,
		.owner = { .on_ready = on_ready, .on_dead = on_dead, .on_stopped = on_stopped, .ctx = m },
	});
	list_append(&m->sessions, &s->node);
	struct op *op = op_new(m, s, OP_CREATE);
	op->create = *req;
	return op;
}

static struct session *find_session(struct manager *m, const char *id, struct fail *f)
{
	list_for_each(s, &m->sessions, struct session, node)
		if (streq(s->id, id) && s->state != SESSION_STOPPING)
			return s;
	fail_set(f, FAIL_NOT_FOUND, "Session '%.64s' not found", id);
	return NULL;
}

/* --- runs -------------------------------------------------------------------------------------------------------- */

static void op_run_free(struct op_run *r)
{
	buf_release(&r->partial[0]);
	buf_release(&r->partial[1]);
	free(r);
}

static void on_run_end(struct run *run, struct run_result *result, const struct fail *f)
{
	struct op_run *r = container_of(run, struct op_run, run);
	struct op *op = r->op;
	op->request.on_done(op->request.ctx, result, f);
	op_run_free(r);
	op_free(op);
}

static void on_run_output(struct run *run, int stream, const void *data, size_t n)
{
	struct op_run *r = container_of(run, struct op_run, run);
	struct buf *partial = &r->partial[stream - 1];
	AUTO(buf_release) struct buf bytes = { 0 }, text = { 0 };
	buf_add(&bytes, partial->data, partial->len);
	buf_add(&bytes, data, n);
	size_t unfinished = utf8_partial_end(bytes.data, bytes.len);
	buf_reset(partial);
	buf_add(partial, bytes.data + bytes.len - unfinished, unfinished);
	utf8_clean(&text, bytes.data, bytes.len - unfinished);
	if (text.len)
		r->op->request.on_output(r->op->request.ctx, stream, buf_str(&text), text.len);
}

static int check_runs(const struct session *s, struct fail *f)
{
	if (s->state == SESSION_DEAD) {
		fail_copy(f, &s->death);
		return fail_hint(f, "%s", advice_after_death());
	}
	if (s->state == SESSION_STARTING)
		return fail_set(f, FAIL_BUSY, "session '%s' is still starting", s->id);
	return 0;
}

struct op *manager_run(struct manager *m, const struct run_request *req, struct fail *f)
{
	struct session *s = find_session(m, req->session_id, f);
	if (!s || check_runs(s, f) < 0)
		return NULL;
	struct op_run *r = new0(struct op_run);
	r->run.terminal = req->kind == RUN_TERMINAL;
	r->run.timeout_seconds = req->timeout_seconds;
	r->run.on_end = on_run_end;
	r->run.on_output = req->on_output ? on_run_output : NULL;
	if (session_run(s, &r->run, req->text, req->len, f) < 0) {
		free(r);
		return NULL;
	}
	struct op *op = op_new(m, s, OP_RUN);
	op->request = *req;
	op->request.text = op->request.session_id = NULL; /* borrowed for the call only */
	op->run = &r->run;
	r->op = op;
	return op;
}

/* --- tasks ------------------------------------------------------------------------------------------------------- */

struct op *op_task(struct manager *m, const char *session_id, const struct task_ops *ops, void *ctx, struct fail *f)
{
	struct session *s = session_id ? find_session(m, session_id, f) : NULL;
	if (session_id && (!s || check_runs(s, f) < 0)) {
		ops->free(ctx);
		return NULL;
	}
	struct op *op = op_new(m, s, OP_TASK);
	op->task = ops;
	op->task_ctx = ctx;
	if (s && ops->start(ctx, s, f) < 0) {
		op_free(op);
		return NULL;
	}
	return op;
}

void op_end(struct op *op)
{
	op_free(op);
}

struct op *manager_stop(struct manager *m, const struct stop_request *req, struct fail *f)
{
	struct session *s = find_session(m, req->session_id, f);
	if (!s)
		return NULL;
	struct op *op = op_new(m, s, OP_STOP);
	op->stop = *req;
	op->stop.session_id = NULL;
	session_stop(s);
	return op;
}

void op_cancel(struct op *op)
{
	struct session *s = op->session;
	if (op->kind == OP_RUN) {
		struct op_run *r = container_of(op->run, struct op_run, run);
		buf_release(&r->partial[0]);
		buf_release(&r->partial[1]);
		session_abandon(op->run);
	}
	bool created = op->kind == OP_CREATE;
	op_free(op);
	if (created)
		session_stop(s);
}

const char *manager_thread(struct manager *m)
{
	if (!m->thread)
		m->thread = thread_id_load(m->config);
	return m->thread;
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct manager *manager_new(struct loop *loop, const struct config *config)
{
	struct manager *m = new0(struct manager);
	m->loop = loop;
	m->config = config;
	m->engine = engine_docker_new(loop, config->docker);
	m->store = store_new(loop, config);
	m->watch_check = timer_new(loop, on_watch_check, m);
	m->gc = timer_new(loop, on_gc, m);
	list_init(&m->sessions);
	list_init(&m->ops);
	token_make(m->owner);
	return m;
}

static void remove_sessions(struct manager *m)
{
	AUTO(strv_release) struct strv names = { 0 };
	list_for_each(s, &m->sessions, struct session, node)
		if (s->state != SESSION_DEAD)
			strv_add(&names, s->container);
	m->engine->ops->remove_and_forget(m->engine, names.v, names.n);
}

struct manager *manager_free(struct manager *m)
{
	if (!m)
		return NULL;
	remove_sessions(m);
	list_for_each(op, &m->ops, struct op, node) {
		struct op_run *r = op->kind == OP_RUN ? container_of(op->run, struct op_run, run) : NULL;
		if (r) {
			r->run.abandoned = true; /* session_free() frees it */
			buf_release(&r->partial[0]);
			buf_release(&r->partial[1]);
		}
		op_free(op);
	}
	list_for_each(s, &m->sessions, struct session, node)
		session_free(s);
	m->engine->ops->watch_free(m->watch);
	timer_free(m->watch_check);
	timer_free(m->gc);
	m->engine->ops->free(m->engine);
	store_free(m->store);
	free(m->thread);
	free(m);
	return NULL;
}
