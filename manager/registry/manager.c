/* The registry of sessions and the operations on it. */
#include "manager/manager.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "manager/deps/deps.h"
#include "manager/deps/set.h"
#include "manager/engine/open.h"
#include "manager/registry/manager-private.h"
#include "manager/registry/thread.h"
#include "manager/session/advice.h"

/* How long a call waits for the session that it names to be taken over. */
#define ADOPT_PATIENCE_MS 30000

struct op {
	struct list node;
	struct manager *manager;
	struct session *session; /* NULL while it is looked for */
	enum { OP_CREATE, OP_RUN, OP_STOP, OP_TASK } kind;
	struct store_job *job;	/* OP_CREATE: the claim, then the record that it runs */
	bool claimed;		/* OP_CREATE */
	bool swept, sweeping;	/* OP_CREATE: refused once; waits for a round of gc */
	char *wanted;		/* id of the session that is looked for or taken over */
	struct timer *patience; /* how long that may take */
	char *text;		/* OP_RUN, meanwhile */
	struct deps_wait *deps; /* OP_CREATE: its image is not there yet */
	char *versions;		/* OP_CREATE: what is in it */
	struct run *run;	/* OP_RUN; owned by the op unless it was abandoned */
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
	uint64_t started;      /* wall clock, for the log */
	struct buf partial[2]; /* an unfinished UTF-8 sequence at the end of a piece of output */
};

static void start_waiting(struct manager *m, struct session *s);
static void fail_waiting(struct manager *m, struct session *s, const struct fail *f);

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
	store_cancel(op->job);
	timer_free(op->patience);
	free(op->wanted);
	free(op->text);
	free(op->versions);
	free(op);
}

/* Nothing ran: the one answer of an op that has not reached its session. */
static void op_fail(struct op *op, const struct fail *f)
{
	switch (op->kind) {
	case OP_CREATE:
		op->create.on_done(op->create.ctx, NULL, f);
		break;
	case OP_RUN:
		op->request.on_done(op->request.ctx, NULL, f);
		break;
	case OP_STOP:
		op->stop.on_done(op->stop.ctx, f);
		break;
	case OP_TASK:
		op->task->fail(op->task_ctx, f);
		break;
	}
	op_free(op);
}

static struct op *find_op(struct manager *m, struct session *s, int kind)
{
	list_for_each(op, &m->ops, struct op, node)
		if (op->session == s && (int)op->kind == kind)
			return op;
	return NULL;
}

static int not_found(struct fail *f, const char *id)
{
	return fail_set(f, FAIL_NOT_FOUND, "Session '%.64s' not found", id);
}

/* --- sessions ---------------------------------------------------------------------------------------------------- */

void manager_drop(struct manager *m, struct session *s)
{
	store_cancel(take_ptr(s->renewal));
	session_free(s);
}

struct session *manager_session(struct manager *m, const char *id)
{
	list_for_each(s, &m->sessions, struct session, node)
		if (streq(s->id, id) && !s->lost)
			return s;
	return NULL;
}

static void info_fill(const struct session *s, struct session_info *info)
{
	uint64_t now = loop_now_ms();
	*info = (struct session_info){
		.id = s->id,
		.runtime = s->runtime->name,
		.status = session_state_name(s),
		.age_seconds = (now - s->created_ms) / 1000,
		.idle_seconds = session_is_busy(s) ? 0 : (now - s->used_ms) / 1000,
	};
}

/* Its claim was just turned down. */
static bool is_refused(struct manager *m, struct session *s)
{
	return m->elsewhere && s->state == SESSION_STARTING && !s->task && !s->stream;
}

void manager_each_session(struct manager *m, void (*fn)(void *ctx, const struct session_info *info), void *ctx)
{
	list_for_each(s, &m->sessions, struct session, node) {
		struct session_info info;
		info_fill(s, &info);
		if (s->state != SESSION_STOPPING && !s->lost && !is_refused(m, s))
			fn(ctx, &info);
	}
	uint64_t now = store_now_ms();
	for (size_t i = 0; m->elsewhere && i < m->elsewhere->n; i++) {
		const struct session_record *row = &m->elsewhere->v[i];
		struct session_info info = {
			.id = row->id,
			.runtime = row->runtime,
			.status = row->state,
			.age_seconds = (now - MIN(row->created, now)) / 1000,
			.idle_seconds = row->busy ? 0 : (now - MIN(row->used, now)) / 1000,
		};
		if (!manager_session(m, row->id))
			fn(ctx, &info);
	}
}

/* Also without the store it is there, and can be used. */
static void on_recorded(void *ctx, const struct fail *f)
{
	struct op *op = ctx;
	struct session_info info;
	op->job = NULL;
	if (f)
		log_warning("a session was not recorded as running: %s", f->message);
	info_fill(op->session, &info);
	info.dependencies = op->versions;
	op->create.on_done(op->create.ctx, &info, NULL);
	op_free(op);
}

static void on_ready(void *ctx, struct session *s)
{
	struct manager *m = ctx;
	struct op *op = find_op(m, s, OP_CREATE);
	start_waiting(m, s);
	/* Recorded before it is told: a server killed right after leaves a session that the next one finds. */
	if (op)
		op->job = ledger_running(m, s, on_recorded, op);
	else
		ledger_renew(m, s);
}

static void on_dead(void *ctx, struct session *s)
{
	struct manager *m = ctx;
	struct op *op = find_op(m, s, OP_CREATE);
	/* Which also forgets the oldest dead ones: not here, where somebody may be walking the list. */
	keeper_check_soon(m);
	if (!s->lost)
		ledger_end(m, s, s->death.message);
	AUTO(fail_release) struct fail f = { 0 };
	fail_copy(&f, &s->death);
	if (f.kind == FAIL_DIED)
		fail_hint(&f, "%s", advice_after_death());
	fail_waiting(m, s, &f);
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
	keeper_check_soon(m);
	answer_create(m, s);
	AUTO(fail_release) struct fail stopped = { 0 };
	not_found(&stopped, s->id);
	fail_waiting(m, s, &stopped);
	while ((op = find_op(m, s, OP_STOP))) {
		asked_for = true;
		op->stop.on_done(op->stop.ctx, f);
		op_free(op);
	}
	/* A removal that failed can be asked for again. */
	if (f && asked_for) {
		session_keep_dead(s, f);
		return;
	}
	ledger_end(m, s, /* cause= */ NULL);
	manager_drop(m, s);
}

/* --- new sessions ------------------------------------------------------------------------------------------------ */

static struct session_params params_for(struct manager *m, const struct runtime *runtime)
{
	return (struct session_params){
		.loop = m->loop,
		.engine = m->engine,
		.config = m->config,
		.runtime = runtime,
		.image = runtime_image(runtime, m->config),
		.thread = m->thread,
		.owner = { .on_ready = on_ready, .on_dead = on_dead, .on_stopped = on_stopped, .ctx = m },
	};
}

static void on_claimed(void *ctx, const struct session_list *active, const struct fail *f)
{
	struct op *op = ctx;
	struct manager *m = op->manager;
	struct session *s = op->session;
	op->job = NULL;
	op->claimed = !f;
	if (!f) {
		keeper_start(m);
		session_start(s, m->self.id, store_id(m->store));
		return;
	}
	/* Slots may be held by sessions that died with their server: look once, then ask again. */
	if (f->kind == FAIL_LIMIT && !op->swept) {
		op->swept = op->sweeping = true;
		keeper_collect(m);
		return;
	}
	m->elsewhere = active;
	op->session = NULL;
	op_fail(op, f);
	m->elsewhere = NULL;
	manager_drop(m, s);
}

static void claim(struct op *op)
{
	op->job = ledger_claim(op->manager, op->session, on_claimed, op);
}

void manager_swept(struct manager *m)
{
	list_for_each(op, &m->ops, struct op, node) {
		if (op->sweeping) {
			op->sweeping = false;
			claim(op);
		}
	}
}

static void begin_session(struct op *op, const char *image)
{
	struct manager *m = op->manager;
	manager_thread(m);
	owner_announce(&m->self, m->config);
	struct session_params params = params_for(m, op->create.runtime);
	params.network = op->create.network;
	params.image = image;
	struct session *s = session_new(&params);
	list_append(&m->sessions, &s->node);
	op->session = s;
	claim(op);
}

static void on_install_output(void *ctx, const char *text, size_t n)
{
	struct op *op = ctx;
	if (op->create.on_output)
		op->create.on_output(op->create.ctx, text, n);
}

static void on_dependencies(void *ctx, const char *image, const char *versions, const struct fail *f)
{
	struct op *op = ctx;
	op->deps = NULL;
	if (f) {
		op_fail(op, f);
		return;
	}
	op->versions = xstrdup(versions);
	begin_session(op, image);
}

struct op *manager_create(struct manager *m, const struct create_request *req, struct fail *f)
{
	if (deps_check(req->runtime, req->dependencies, req->n_dependencies, f) < 0)
		return NULL;
	struct op *op = op_new(m, NULL, OP_CREATE);
	op->create = *req;
	op->create.dependencies = NULL; /* borrowed for the call only */
	if (!req->n_dependencies)
		begin_session(op, runtime_image(req->runtime, m->config));
	else
		op->deps = deps_get(m->deps, &(struct deps_request){ .runtime = req->runtime,
								     .thread = manager_thread(m),
								     .v = req->dependencies,
								     .n = req->n_dependencies,
								     .on_output = on_install_output,
								     .on_done = on_dependencies,
								     .ctx = op });
	return op;
}

struct session *manager_take_in(struct manager *m, const struct session_record *row)
{
	struct session_params params = params_for(m, runtime_find(row->runtime));
	uint64_t now = store_now_ms();
	if (row->image)
		params.image = row->image;
	struct session *s =
		session_adopt(&params, &(struct session_past){ .id = row->id,
							       .container = row->container ? row->container : "",
							       .fence = row->fence,
							       .age_ms = now - MIN(row->created, now) });
	list_append(&m->sessions, &s->node);
	keeper_start(m);
	return s;
}

/* --- calls that wait for a session -------------------------------------------------------------------------------- */

static void on_patience_over(void *ctx)
{
	struct op *op = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_BUSY, "Session '%s' is still being taken over from a server that has ended", op->wanted);
	fail_hint(&f, "Try again in a moment; if it stays so, check that `docker ps` answers.");
	op_fail(op, &f);
}

/* Ids of this form are ours; whatever else is asked for can't exist, and the store is not asked. */
static bool is_session_id(const char *id)
{
	return strspn(id, "abcdefghijklmnopqrstuvwxyz234567") == TOKEN_SIZE - 1 && !id[TOKEN_SIZE - 1];
}

/* True if the op now waits until the session is found or adopted. s may be NULL. */
static bool must_wait(const struct session *s, const char *id)
{
	return s ? s->state == SESSION_ADOPTING : is_session_id(id);
}

static struct op *op_wait(struct op *op, const char *id)
{
	op->wanted = xstrdup(id);
	op->patience = timer_new(op->manager->loop, on_patience_over, op);
	timer_start(op->patience, ADOPT_PATIENCE_MS, 0);
	if (!op->session)
		adopt_one(op->manager, id);
	return op;
}

static int run_start(struct op *op, const char *text, size_t len, struct fail *f);

static int op_start(struct op *op, struct fail *f)
{
	return op->task ? op->task->start(op->task_ctx, op->session, f) : run_start(op, op->text, op->request.len, f);
}

static void op_wait_over(struct op *op)
{
	op->patience = timer_free(op->patience);
	free(take_ptr(op->wanted));
}

/* A run or a task that waits for this session. Callbacks may change the list: one at a time. */
static struct op *next_waiting(struct manager *m, struct session *s)
{
	list_for_each(op, &m->ops, struct op, node)
		if (op->session == s && op->wanted)
			return op;
	return NULL;
}

static void start_waiting(struct manager *m, struct session *s)
{
	struct op *op;
	while ((op = next_waiting(m, s))) {
		AUTO(fail_release) struct fail f = { 0 };
		op_wait_over(op);
		if (op_start(op, &f) < 0)
			op_fail(op, &f);
	}
}

static void fail_waiting(struct manager *m, struct session *s, const struct fail *f)
{
	struct op *op;
	while ((op = next_waiting(m, s)))
		op_fail(op, f);
}

static struct op *next_looking(struct manager *m, const char *id)
{
	list_for_each(op, &m->ops, struct op, node)
		if (!op->session && op->wanted && streq(op->wanted, id))
			return op;
	return NULL;
}

void manager_found(struct manager *m, const char *id, struct session *s, const struct fail *f)
{
	struct op *op;
	bool stop = false;
	while ((op = next_looking(m, id))) {
		op->session = s;
		stop |= s && op->kind == OP_STOP;
		if (s && op->kind == OP_STOP)
			op_wait_over(op);
		else if (!s) /* what has died is stopped already */
			op_fail(op, op->kind == OP_STOP && f->kind == FAIL_DIED ? NULL : f);
	}
	if (stop)
		session_stop(s);
}

static struct session *find_session(struct manager *m, const char *id)
{
	struct session *s = manager_session(m, id);
	return s && s->state != SESSION_STOPPING ? s : NULL;
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
	ledger_run_ended(op->manager, run, r->started, result ? ending_name(result->ending) : "not_run",
			 result ? result->stdout_bytes + result->stderr_bytes : 0);
	if (result)
		ledger_earlier_ended(op->manager, run->session, result);
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

static int run_start(struct op *op, const char *text, size_t len, struct fail *f)
{
	const struct run_request *req = &op->request;
	struct op_run *r = new0(struct op_run);
	r->run.terminal = req->kind == RUN_TERMINAL;
	r->run.timeout_seconds = req->timeout_seconds;
	r->run.on_end = on_run_end;
	r->run.on_output = req->on_output ? on_run_output : NULL;
	r->op = op;
	if (session_run(op->session, &r->run, text, len, f) < 0) {
		free(r);
		return -1;
	}
	op->run = &r->run;
	r->started = store_now_ms();
	ledger_run_began(op->manager, &r->run, r->started, len);
	return 0;
}

struct op *manager_run(struct manager *m, const struct run_request *req, struct fail *f)
{
	struct session *s = find_session(m, req->session_id);
	bool wait = must_wait(s, req->session_id);
	if (!s && !wait)
		not_found(f, req->session_id);
	if ((!s && !wait) || (s && check_runs(s, f) < 0))
		return NULL;
	struct op *op = op_new(m, s, OP_RUN);
	op->request = *req;
	op->request.text = op->request.session_id = NULL; /* borrowed for the call only */
	if (wait) {
		op->text = xstrndup(req->text, req->len);
		return op_wait(op, req->session_id);
	}
	if (run_start(op, req->text, req->len, f) < 0) {
		op_free(op);
		return NULL;
	}
	return op;
}

struct op *op_task(struct manager *m, const char *session_id, const struct task_ops *ops, void *ctx, struct fail *f)
{
	struct session *s = session_id ? find_session(m, session_id) : NULL;
	bool wait = session_id && must_wait(s, session_id);
	if (session_id && !s && !wait)
		not_found(f, session_id);
	if ((session_id && !s && !wait) || (s && check_runs(s, f) < 0)) {
		ops->free(ctx);
		return NULL;
	}
	struct op *op = op_new(m, s, OP_TASK);
	op->task = ops;
	op->task_ctx = ctx;
	if (wait)
		return op_wait(op, session_id);
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
	struct session *s = find_session(m, req->session_id);
	if (!s && !is_session_id(req->session_id)) {
		not_found(f, req->session_id);
		return NULL;
	}
	struct op *op = op_new(m, s, OP_STOP);
	op->stop = *req;
	op->stop.session_id = NULL;
	if (!s)
		return op_wait(op, req->session_id);
	session_stop(s);
	return op;
}

void op_cancel(struct op *op)
{
	struct session *s = op->session;
	struct manager *m = op->manager;
	bool unclaimed = !op->claimed;
	if (op->run) {
		struct op_run *r = container_of(op->run, struct op_run, run);
		ledger_run_ended(m, &r->run, r->started, "cancelled", 0);
		buf_release(&r->partial[0]);
		buf_release(&r->partial[1]);
		session_abandon(op->run);
	}
	bool created = op->kind == OP_CREATE;
	if (op->deps)
		deps_cancel(op->deps);
	op_free(op);
	if (s && created && unclaimed) {
		/* The claim may be on its way; this comes after it. */
		ledger_end(m, s, /* cause= */ NULL);
		manager_drop(m, s);
	} else if (s && created) {
		session_stop(s);
	}
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
	AUTO(fail_release) struct fail f = { 0 };
	m->engine =
		engine_open(config->engine, &(struct engine_options){ .loop = loop, .program = config->docker }, &f);
	keeper_init(m);
	m->store = store_new(loop, config);
	list_init(&m->sessions);
	list_init(&m->ops);
	list_init(&m->adoptions);
	owner_init(&m->self);
	m->deps = deps_new(&(struct deps_spec){
		.loop = loop, .engine = m->engine, .config = config, .store = m->store, .owner = m->self.id });
	return m;
}

void manager_leave_nothing(struct manager *m)
{
	m->leaves_nothing = true;
}

struct manager *manager_free(struct manager *m)
{
	if (!m)
		return NULL;
	m->deps = deps_free(m->deps);
	bool sessions_stay = keeper_leave(m);
	list_for_each(op, &m->ops, struct op, node) {
		struct op_run *r = op->run ? container_of(op->run, struct op_run, run) : NULL;
		if (r) {
			r->run.abandoned = true; /* session_free() frees it */
			buf_release(&r->partial[0]);
			buf_release(&r->partial[1]);
		}
		op_free(op);
	}
	adopt_release(m);
	keeper_release(m);
	list_for_each(s, &m->sessions, struct session, node)
		manager_drop(m, s);
	m->engine->ops->free(m->engine);
	store_free(m->store);
	owner_release(&m->self, sessions_stay);
	free(m->thread);
	free(m);
	return NULL;
}
