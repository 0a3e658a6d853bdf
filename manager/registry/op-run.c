/* Starts a cell or a command, or waits for one that was started before. */
#include "base/alloc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/work.h"
#include "manager/model/token.h"
#include "manager/registry/claims.h"
#include "manager/registry/journal.h"
#include "manager/registry/live.h"
#include "manager/registry/op.h"
#include "manager/registry/task.h"

/* Maximum timeout of a run that may last as long as its session. */
#define LIFETIME_MAX_SECONDS (7 * 86400)

struct run_op {
	struct op op;
	struct run_request request;
	char *text; /* a copy, if the session is not ready yet */
	struct strv env;
	char *env_names, *cwd;
	char *input; /* may be a secret */
	char *by, *task_face, *branch;
	struct run_waiter waiter;
	enum run_kind kind;
	uint32_t number;
	uint64_t started; /* wall clock, for the log; 0 = another request started the run */
	uint64_t requested_ms;
	struct timer *becomes_task;
	struct timer *tells; /* answers a request that does not wait for its run */
	bool had_ended;	     /* that run had ended before the interrupt */
	bool waited;	     /* another request of the same client waits for the run */
	struct task *task;   /* the task that the store is recording; NULL = none */
	struct live live;
	struct tail_job *ending; /* worker job that prepares the last output; NULL = none */
};

static struct run_op *run_op_of(struct op *op)
{
	return container_of(op, struct run_op, op);
}

/* result NULL: only the ending is known. */
static void log_end(struct run_op *o, const char *ending, const struct run_result *result)
{
	uint64_t duration_ms = result ? result->duration_ms : 0;
	struct ended_run ended = { .number = o->number,
				   .kind = o->kind,
				   .started = o->started ? o->started : store_now_ms() - duration_ms,
				   .ending = ending,
				   .out_bytes = result ? result->stdout_bytes + result->stderr_bytes : 0,
				   .result = result };
	log_run_ended(o->op.entry, &ended);
}

/* A worker job that cleans the output at the end of a run, if the caller gets much of it at once. */
struct tail_job {
	struct run_op *op; /* do not use after the job was forgotten */
	struct work *work;
	struct live live;
	struct run_result result;
	struct live_piece *pieces;
	size_t n;
	char session[TOKEN_SIZE];
};

static void note_network(struct run_result *result, const struct session_entry *entry)
{
	result->offline = !session_network(entry->session) && !entry->rules;
	for (size_t i = 0; i < result->n_earlier; i++)
		result->earlier[i].result.offline = result->offline;
}

/* result NULL: the run did not start. */
static void log_result(struct run_op *o, const struct run_result *result)
{
	if (!result)
		log_end(o, "not_run", NULL);
	else if (result->ending == ENDING_RUNNING || result->ending == ENDING_WAITING)
		log_run_delivered(o->op.entry, o->number, result);
	else
		log_end(o, ending_name(result->ending), result);
}

static bool is_heavy(const struct run_op *o, const struct run_result *result)
{
	return result && o->request.on_heavy && run_result_weight(result) > RUN_RESULT_HEAVY;
}

static void keep_text(void *ctx, int stream, const char *text, size_t n)
{
	struct tail_job *j = ctx;
	j->pieces = xrealloc(j->pieces, (j->n + 1) * sizeof(*j->pieces));
	j->pieces[j->n] = (struct live_piece){ .stream = stream };
	buf_add(&j->pieces[j->n++].bytes, text, n);
}

static void clean_tail(void *ctx)
{
	struct tail_job *j = ctx;
	live_end(&j->live, &j->result);
}

static void tail_job_free(struct tail_job *j)
{
	for (size_t i = 0; i < j->n; i++)
		buf_release(&j->pieces[i].bytes);
	free(j->pieces);
	live_release(&j->live);
	run_result_release(&j->result);
	free(j);
}

static void on_tail_cleaned(void *ctx, bool forgotten)
{
	struct tail_job *j = ctx;
	struct run_op *o = j->op;
	if (forgotten) {
		tail_job_free(j);
		return;
	}
	o->ending = NULL;
	for (size_t i = 0; i < j->n && o->request.on_output; i++)
		o->request.on_output(o->request.ctx, j->pieces[i].stream, buf_str(&j->pieces[i].bytes),
				     j->pieces[i].bytes.len);
	if (is_heavy(o, &j->result))
		o->request.on_heavy(o->request.ctx, &j->result);
	else
		o->request.on_done(o->request.ctx, &j->result, NULL);
	op_end(&o->op);
	tail_job_free(j);
}

/* Takes ownership of the result's content. */
static void end_later(struct run_op *o, struct run_result *result)
{
	struct tail_job *j = new0(struct tail_job);
	/* The run can no longer become a task. */
	o->becomes_task = timer_free(o->becomes_task);
	if (o->task)
		task_drop(take_ptr(o->task));
	o->ending = j;
	j->op = o;
	j->live = o->live;
	j->live.viewer = (struct live_viewer){ .on_output = keep_text, .ctx = j }; /* collects the texts in `pieces` */
	o->live = (struct live){ .viewer = o->live.viewer };
	j->result = *result;
	*result = (struct run_result){ 0 };
	snprintf(j->session, sizeof(j->session), "%s", session_id(o->op.entry->session));
	j->work = work_start(o->op.registry->loop, &(struct work_spec){ .fn = clean_tail,
									.on_done = on_tail_cleaned,
									.ctx = j,
									.render = true,
									.session = j->session });
}

static void on_end(struct run_waiter *w, struct run_result *result, const struct fail *f)
{
	struct run_op *o = container_of(w, struct run_op, waiter);
	struct session_entry *entry = o->op.entry;
	if (result) {
		note_network(result, entry);
		log_earlier_ended(entry, result);
		result->notice = session_entry_notice(entry);
	}
	bool shows = result && o->request.on_display;
	if (shows && live_end_is_heavy(&o->live)) {
		log_result(o, result);
		end_later(o, result);
		return;
	}
	if (shows)
		live_end(&o->live, result);
	bool heavy = is_heavy(o, result);
	if (!heavy)
		o->request.on_done(o->request.ctx, result, f);
	log_result(o, result);
	if (heavy)
		o->request.on_heavy(o->request.ctx, result);
	op_end(&o->op);
}

static struct live *live_of(struct run_waiter *w)
{
	return &container_of(w, struct run_op, waiter)->live;
}

static void on_output(struct run_waiter *w, int stream, const void *data, size_t n)
{
	live_output(live_of(w), stream, data, n);
}

static void on_display(struct run_waiter *w, const struct shown_display *display)
{
	live_display(live_of(w), display);
}

static void on_tail(struct run_waiter *w, int stream, const void *data, size_t n)
{
	live_tail(live_of(w), stream, data, n);
}

static void on_replay(struct run_waiter *w, size_t displays)
{
	live_replay(live_of(w), displays);
}

static void watch(struct run_op *o)
{
	o->live.viewer = (struct live_viewer){ o->request.on_output, o->request.on_display, o->request.ctx };
	o->waiter.on_output = o->request.on_output ? on_output : NULL;
	if (!o->request.on_display)
		return;
	o->waiter.on_display = on_display;
	o->waiter.on_tail = on_tail;
	o->waiter.on_replay = on_replay;
}

/* --- a task ------------------------------------------------------------------------------------------------------ */

static void on_made(void *ctx, struct task *t, const struct fail *f)
{
	struct run_op *o = ctx;
	o->task = NULL;
	if (f) {
		log_debug("run %u does not become a task: %s", o->number, f->message);
		return;
	}
	task_take(t, &o->waiter);
	struct task_info info = task_info(t);
	o->request.on_task(o->request.ctx, &info);
	op_end(&o->op);
}

static void on_task_due(void *ctx)
{
	struct run_op *o = ctx;
	o->task = task_make(&(struct task_spec){ .entry = o->op.entry,
						 .conversation = o->op.conversation,
						 .number = o->number,
						 .kind = o->kind,
						 .timeout_seconds = o->request.timeout_seconds,
						 .started = o->started,
						 .face = o->task_face,
						 .on_made = on_made,
						 .ctx = o });
}

static void expect_task(struct run_op *o)
{
	uint64_t after = o->request.task_after_seconds * 1000, waited = loop_now_ms() - o->requested_ms;
	if (!o->request.on_task || o->request.has_wait || o->request.detached)
		return;
	o->becomes_task = timer_new(o->op.registry->loop, on_task_due, o);
	timer_start(o->becomes_task, after - MIN(waited, after), 0);
}

/* --- the start --------------------------------------------------------------------------------------------------- */

static uint64_t lifetime_seconds(const struct session *s)
{
	uint64_t left = session_left_ms(s) / 1000;
	return MAX(1, MIN(left, (uint64_t)LIFETIME_MAX_SECONDS));
}

static void tell_of_detached(void *ctx)
{
	struct run_op *o = ctx;
	AUTO(run_result_release) struct run_result result = {
		.ending = ENDING_RUNNING, .run = o->number, .stdout_text = xstrdup(""), .stderr_text = xstrdup("")
	};
	o->request.on_done(o->request.ctx, &result, NULL);
	op_end(&o->op);
}

static void tell_soon(struct run_op *o, timer_fn fn)
{
	o->tells = timer_new(o->op.registry->loop, fn, o);
	timer_start(o->tells, 0, 0);
}

static int begin(struct run_op *o, const char *text, struct fail *f)
{
	struct session *s = o->op.entry->session;
	const struct run_request *request = &o->request;
	struct run_spec spec = {
		.kind = request->kind,
		.timeout_seconds = request->timeout_seconds ? request->timeout_seconds : lifetime_seconds(s),
		.wait_ms = request->has_wait ? request->wait_seconds * 1000 : RUN_WAIT_FOR_END,
		.text = text,
		.len = request->len,
		.env = &o->env,
		.cwd = o->cwd,
		.branch = o->branch,
		.restart = request->restart,
		.interactive = request->interactive,
		.rows = request->rows,
		.cols = request->cols,
		.by = o->by,
		.detached = request->detached,
	};
	if (spec.detached)
		journal_make_room(o->op.entry->journal);
	o->number = run_start(session_dispatch(s), &spec, spec.detached ? NULL : &o->waiter, f);
	if (!o->number)
		return -1;
	o->started = store_now_ms();
	log_run_began(o->op.entry, &(struct begun_run){ .number = o->number,
							.kind = o->kind,
							.started = o->started,
							.in_bytes = request->len,
							.env = o->env_names,
							.text = text });
	strv_release(&o->env);
	if (request->on_started)
		request->on_started(request->ctx, o->number);
	if (spec.detached)
		tell_soon(o, tell_of_detached);
	else
		expect_task(o);
	return 0;
}

static void tell_of_foreign(void *ctx)
{
	struct run_op *o = ctx;
	AUTO(run_result_release) struct run_result result = { .ending = ENDING_OK,
							      .run = o->number,
							      .cause = CAUSE_RUN_FOREIGN,
							      .stdout_text = xstrdup(""),
							      .stderr_text = xstrdup("") };
	const char *end = o->had_ended ? "had ended already" : "was interrupted";
	if (o->waited)
		result.detail = xasprintf("Run %u %s; the request that waits for it gets its output.", o->number, end);
	else
		result.detail = xasprintf(
			"Another client of this session started run %u. It %s; its output goes to that client.",
			o->number, end);
	o->request.on_done(o->request.ctx, &result, NULL);
	op_end(&o->op);
}

/* Any client of the session may interrupt a run to free the interpreter. The run's end is reported to the client
 * that started it. */
static int interrupt_foreign(struct run_op *o, struct dispatch *d)
{
	o->had_ended = run_has_ended(d, o->number);
	if (!o->had_ended)
		run_interrupt(d, o->number);
	tell_soon(o, tell_of_foreign);
	return 0;
}

static int join(struct run_op *o, struct fail *f)
{
	struct dispatch *d = session_dispatch(o->op.entry->session);
	const struct run_request *request = &o->request;
	if (run_kind(d, request->run, &o->kind, f) < 0)
		return -1;
	o->number = (uint32_t)request->run;
	bool foreign = request->interrupt && run_is_foreign(d, request->run, request->client);
	o->waited = request->interrupt && !foreign && run_is_waited(d, request->run);
	if (o->waited || foreign)
		return interrupt_foreign(o, d);
	if (o->input && (run_check_client(d, request->run, request->client, f) < 0 ||
			 run_input(d, request->run, o->input, request->input_len, f) < 0))
		return -1;
	if (request->interrupt)
		run_interrupt(d, request->run);
	if (request->detached) {
		tell_soon(o, tell_of_detached);
		return 0;
	}
	return run_join(d, request->run, request->wait_seconds * 1000, &o->waiter, f);
}

static int start(struct op *op, struct fail *f)
{
	struct run_op *o = run_op_of(op);
	if (o->request.run)
		return join(o, f);
	return begin(o, o->text ? o->text : o->request.text, f);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void answer_fail(struct op *op, const struct fail *f)
{
	struct run_op *o = run_op_of(op);
	o->request.on_done(o->request.ctx, NULL, f);
}

static void interrupt(struct op *op)
{
	struct run_op *o = run_op_of(op);
	AUTO(fail_release) struct fail f = { 0 };
	if (o->ending)
		return; /* the run has ended */
	if (o->waiter.run || o->tells) {
		run_interrupt(session_dispatch(op->entry->session), o->number);
		return;
	}
	fail_set(&f, FAIL_CANCELLED, "interrupted before it began: nothing ran");
	op_fail(op, &f);
}

/* A request that only waited for a run does not end the run when it is cancelled. */
static void cancel(struct op *op)
{
	struct run_op *o = run_op_of(op);
	if (!o->waiter.run || o->request.run) {
		run_leave(&o->waiter);
		return;
	}
	log_end(o, "cancelled", NULL);
	run_abandon(&o->waiter);
}

static void run_op_free(struct op *op)
{
	struct run_op *o = run_op_of(op);
	if (o->task)
		task_drop(o->task);
	if (o->ending)
		work_forget(o->ending->work);
	timer_free(o->becomes_task);
	timer_free(o->tells);
	run_leave(&o->waiter);
	live_release(&o->live);
	free(o->text);
	strv_release(&o->env);
	free(o->env_names);
	free(o->cwd);
	free(o->by);
	free(o->branch);
	free(o->task_face);
	if (o->input)
		explicit_bzero(o->input, o->request.input_len);
	free(o->input);
	free(o);
}

static char *copy_name(const char *by)
{
	size_t n = strlen(by);
	if (n > RUN_BY_MAX)
		n = RUN_BY_MAX - utf8_partial_end(by, RUN_BY_MAX);
	return xstrndup(by, n);
}

struct op *manager_run(struct conversation *c, const struct run_request *req, struct fail *f)
{
	static const struct op_type type = {
		.start = start, .fail = answer_fail, .interrupt = interrupt, .cancel = cancel, .free = run_op_free
	};
	if (env_check(req->env, req->n_env, f) < 0)
		return NULL;
	struct run_op *o = new0(struct run_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->kind = req->kind;
	o->requested_ms = loop_now_ms();
	o->waiter = (struct run_waiter){ .on_end = on_end, .client = req->client };
	watch(o);
	env_copy(&o->env, req->env, req->n_env);
	o->env_names = env_names(req->env, req->n_env);
	o->cwd = req->cwd ? xstrdup(req->cwd) : NULL;
	o->by = req->by ? copy_name(req->by) : NULL;
	o->branch = req->branch ? xstrdup(req->branch) : NULL;
	o->task_face = req->task_face ? xstrdup(req->task_face) : NULL;
	o->input = req->input ? xstrndup(req->input, req->input_len) : NULL;
	struct op *op = op_begin(&o->op, req->session_id, f);
	if (!op)
		return NULL;
	/* The request's strings are valid only until this function returns. */
	if (op->wanted && req->text)
		o->text = xstrndup(req->text, req->len);
	o->request.text = o->request.session_id = o->request.cwd = o->request.input = NULL;
	o->request.by = o->request.task_face = o->request.branch = NULL;
	o->request.env = NULL;
	return op;
}
