#include "manager/line/run-private.h"

#include "base/alloc.h"
#include "manager/model/cause.h"

/* PID 1 holds at most CALLS_MAX runs. Cancelled runs count until they have ended. */
#define RUNS_MAX (CALLS_MAX - 64)
/* Time that PID 1 may need beyond the time limit: interrupt, grace, kill, restart. */
#define RUN_GRACE_MS 60000
/* Assumed for a run whose time limit is unknown. */
#define TIMEOUT_MAX_MS 300000
/* If a run's end is LATE_MS late, PID 1 is asked for a sign of life and has SILENCE_MS to answer. A hanging or
 * missing engine must not keep a caller waiting. */
#define LATE_MS 5000
#define SILENCE_MS 15000
/* Time that PID 1 may need to send the output so far. */
#define TAKE_MS 5000
/* How long a run may be queued before its caller gets an answer. */
#define QUEUED_MS 30000
/* QUEUED_MOMENT_MS applies instead if the run ahead waits for input, or was started at least GIVEN_UP_MS ago. The
 * caller of the run ahead has then probably given up: clients that time out or cancel often just send their next
 * request. If the run ahead was started later, the answer comes when that run is GIVEN_UP_MS old. Runs that were sent
 * within PARALLEL_MS of each other count as parallel requests, and wait QUEUED_MS. */
#define QUEUED_MOMENT_MS 300
#define GIVEN_UP_MS 5000
#define PARALLEL_MS 1000

struct run *run_find(struct dispatch *d, uint64_t call)
{
	list_for_each(run, &d->runs, struct run, node)
		if (run->call == call)
			return run;
	return NULL;
}

/* PID 1 executes runs of a kind one after the other and does not report when each begins, so the first is assumed
 * to have begun. */
static void note_beginnings(struct dispatch *d)
{
	list_for_each(run, &d->runs, struct run, node) {
		if (run->ended || run->began_ms || run_is_behind(run))
			continue;
		run->began_ms = loop_now_ms();
		run_record_start(run);
	}
}

void run_free(struct run *run)
{
	run_record_end(run, /* result= */ NULL, /* f= */ NULL);
	list_remove(&run->node);
	buf_release(&run->request);
	timer_free(run->timer);
	collect_free(run->collect);
	run_prompt_release(&run->prompt);
	run_result_release(&run->result);
	free(run);
}

struct run_waiter *run_take_waiter(struct run *run)
{
	struct run_waiter *w = take_ptr(run->waiter);
	if (w)
		w->run = NULL;
	timer_stop(run->timer);
	run->taking = false;
	run->telling = 0;
	run->pinged_ms = 0;
	return w;
}

static bool is_kept(const struct run *run)
{
	return !run->waiter && !run->abandoned && !run->held;
}

static struct run_result take_result(struct run *run)
{
	run_prompt_settle(run);
	struct run_result result = run->result;
	run->result = (struct run_result){ 0 };
	result.run = run->call;
	memcpy(result.branch, run->branch, sizeof(result.branch));
	if (!run->after_kept)
		result.behind = 0;
	const struct run *ahead = result.behind ? run_find(run->dispatch, result.behind) : NULL;
	result.behind_prompts = ahead && ahead->prompt.open;
	return result;
}

/* --- kept runs --------------------------------------------------------------------------------------------------- */

/* Whether the result of `with` also reports the state of this run. */
static bool rides(const struct run *run, const struct run *with)
{
	return run != with && run->kind != RUN_INSTALL && !run->client && !run->detached &&
	       (is_kept(run) || run_is_old(run));
}

/* Whether all screens of the answer to the waiter are drawn; if not, starts to draw the next one. */
static bool is_drawn(struct run *run)
{
	const struct run_waiter *w = run->waiter;
	if (w && !run_prompt_show(run))
		return false;
	if (!w || w->holds || w->client || run->kind == RUN_INSTALL)
		return true;
	list_for_each(other, &run->dispatch->runs, struct run, node)
		if (rides(other, run) && other->ended && !run_prompt_show(other))
			return false;
	return true;
}

/* Adds all kept runs to a result, and acknowledges and forgets those that have ended. */
static void tell_kept(struct dispatch *d, struct run_result *result, const struct run *but)
{
	list_for_each(run, &d->runs, struct run, node) {
		if (!rides(run, but))
			continue;
		/* If the last screen is not drawn yet, the next answer reports the run's end. */
		bool ended = run->ended && run_prompt_show(run);
		result->earlier = xrealloc(result->earlier, (result->n_earlier + 1) * sizeof(*result->earlier));
		struct earlier_result *e = &result->earlier[result->n_earlier++];
		*e = (struct earlier_result){ .seq = run->call,
					      .kind = run->kind,
					      .ended = ended,
					      .waits_for_input = run->prompt.open,
					      .queued = !run->began_ms && !run->prompt.begun,
					      .queue_reported = run->queue_reported,
					      .age_ms = loop_now_ms() - run->started_ms };
		memcpy(e->result.branch, run->branch, sizeof(run->branch));
		run->queue_reported = e->queued;
		if (!ended)
			continue;
		e->result = take_result(run);
		dispatch_ack(d, run->call);
		run_free(run);
	}
}

/* A replay starts from the beginning, also for a run that had ended before the connection broke. */
static struct run *begin_again(struct dispatch *d, struct run *run, const struct wire_frame *frame)
{
	struct wire_call call = wire_read_call(frame);
	/* The first hello names all runs. Any other run has already been reported, but its acknowledgement was
	 * lost. */
	if (!run)
		return NULL;
	memcpy(run->branch, call.branch, sizeof(run->branch));
	run_record_replay(run, &call);
	run_prompt_restart(run);
	run->ended = false;
	run->telling = 0;
	run->told = MAX(run->told, call.told);
	run->detached |= call.detached;
	run_prompt_read(run, frame);
	return run;
}

/* --- reports ----------------------------------------------------------------------------------------------------- */

/* Reports the end to the waiter. */
static void answer_end(struct run *run)
{
	AUTO(run_result_release) struct run_result result = take_result(run);
	struct run_waiter *w = run_take_waiter(run);
	struct dispatch *d = run->dispatch;
	if (w && !w->holds && !w->client && run->kind != RUN_INSTALL)
		tell_kept(d, &result, run);
	run->held = w && w->holds && run->ended;
	if (!run->held)
		run_free(run);
	if (w)
		w->on_end(w, &result, NULL);
}

/* PID 1 has reported the end. It may forget the run, unless the waiter must store the result first. */
static void tell_end(struct run *run)
{
	if (!is_drawn(run)) {
		run->telling = TELLING_END;
		return;
	}
	if (!run->waiter || !run->waiter->holds)
		dispatch_ack(run->dispatch, run->call);
	answer_end(run);
}

/* Reports the output so far; from now on the run is kept. */
static void answer_running(struct run *run)
{
	AUTO(run_result_release) struct run_result result = take_result(run);
	struct run_waiter *w = run_take_waiter(run);
	result.ending = ENDING_RUNNING;
	run_prompt_tell(run, &result);
	if (!result.stdout_text)
		result.stdout_text = xstrdup("");
	if (!result.stderr_text)
		result.stderr_text = xstrdup("");
	result.duration_ms = MAX(result.duration_ms, 1);
	if (!w->client)
		tell_kept(run->dispatch, &result, run);
	w->on_end(w, &result, NULL);
}

/* Reports the output up to a mark, and acknowledges it, so that PID 1 does not replay it. */
static void tell_running(struct run *run, uint32_t mark)
{
	AUTO(buf_release) struct buf ack = { 0 };
	if (!is_drawn(run)) {
		run->telling = mark;
		return;
	}
	run->told = mark;
	wire_put_mark_ack(&ack, run->call, mark);
	dispatch_send(run->dispatch, &ack);
	answer_running(run);
}

static void tell_when_drawn(struct run *run)
{
	/* Drawing has its own deadline. This timer is for a replay in the meantime, after which PID 1 is asked
	 * again. */
	timer_start(run->timer, TAKE_MS, 0);
	if (run->ended)
		tell_end(run);
	else
		tell_running(run, run->telling);
}

void run_shown(struct run *run)
{
	list_for_each(other, &run->dispatch->runs, struct run, node)
		if (other != run && other->telling)
			timer_start(other->timer, 0, 0);
	if (run->telling)
		tell_when_drawn(run);
}

static void fail_run(struct run *run, const struct fail *f)
{
	struct run_waiter *w = run_take_waiter(run);
	run_record_end(run, /* result= */ NULL, f);
	run_free(run);
	if (w)
		w->on_end(w, NULL, f);
}

static void take_piece(struct run *run)
{
	AUTO(run_result_release) struct run_result piece = { 0 };
	collect_finish(run->collect, &piece);
	run_record_piece(run, &piece);
	run_result_append(&run->result, &piece);
}

/* Ends the run with the output so far and the reason `why`. */
static void run_cut(struct run *run, enum ending ending, const struct fail *why)
{
	take_piece(run);
	struct run_result *result = &run->result;
	result->ending = ending;
	result->cause = cause_of(why);
	result->duration_ms = run->began_ms ? loop_now_ms() - run->began_ms : 0;
	free(result->detail);
	result->detail = xstrdup(why->message);
	run_record_end(run, result, NULL);
	answer_end(run);
}

/* A callback may start or stop runs, so the runs to end are moved to a list of their own first. */
static void take_waited(struct dispatch *d, struct list *runs)
{
	list_init(runs);
	list_for_each(run, &d->runs, struct run, node) {
		if (!run->waiter)
			continue;
		list_remove(&run->node);
		list_append(runs, &run->node);
	}
}

void runs_cut(struct dispatch *d, enum ending ending, const struct fail *why)
{
	struct list runs;
	take_waited(d, &runs);
	for (struct run *run; (run = list_first(&runs, struct run, node));)
		run_cut(run, ending, why);
}

/* PID 1 does not respond. If the run was sent, its fate is unknown; if not, it has not run. */
static void give_up_run(struct run *run)
{
	struct dispatch *d = run->dispatch;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *why = d->trouble.kind ? xstrdup(d->trouble.message) :
						  xasprintf("the container engine did not answer for %llu s",
							    (unsigned long long)(loop_now_ms() - d->heard_ms) / 1000);
	if (run->sent) {
		dispatch_send_frame(d, FRAME_INTERRUPT, run->call);
		cause_set(&f, FAIL_ENGINE, CAUSE_NO_ANSWER, "%s", why);
		run_cut(run, ENDING_SESSION_LOST, &f);
		return;
	}
	cause_set(&f, FAIL_ENGINE, CAUSE_NO_ANSWER, "the session cannot be reached: %s", why);
	fail_hint(&f, "Nothing ran. The session is kept for its lease: try again once the engine answers.");
	fail_run(run, &f);
}

static void runs_give_up(struct dispatch *d)
{
	struct list runs;
	take_waited(d, &runs);
	for (struct run *run; (run = list_first(&runs, struct run, node));)
		give_up_run(run);
}

/* --- time -------------------------------------------------------------------------------------------------------- */

/* Runs of a kind wait for each other, so the guard time covers all runs ahead, plus this one until it is late. */
static uint64_t guard_ms(const struct run *run)
{
	uint64_t ms = run->timeout_seconds * 1000 + LATE_MS;
	list_for_each(other, &run->dispatch->runs, struct run, node) {
		if (other == run || other->kind != run->kind || other->ended || other->beside)
			continue;
		ms += (other->timeout_seconds ? other->timeout_seconds * 1000 : TIMEOUT_MAX_MS) + RUN_GRACE_MS;
	}
	return ms;
}

void run_guard(struct run *run)
{
	run->patience = TO_THE_END;
	timer_start(run->timer, guard_ms(run), 0);
}

static void on_late(struct run *run)
{
	struct dispatch *d = run->dispatch;
	if (!run->pinged_ms) {
		run->pinged_ms = loop_now_ms();
		dispatch_send_frame(d, FRAME_PING, 0);
		timer_start(run->timer, SILENCE_MS, 0);
	} else if (d->heard_ms < run->pinged_ms) {
		runs_give_up(d);
	} else if (loop_now_ms() - run->pinged_ms < RUN_GRACE_MS - LATE_MS) {
		timer_start(run->timer, RUN_GRACE_MS - LATE_MS - SILENCE_MS, 0);
	} else {
		AUTO(fail_release) struct fail f = { 0 };
		dispatch_send_frame(d, FRAME_INTERRUPT, run->call);
		cause_set(&f, FAIL_ENGINE, CAUSE_NO_END, "the container did not report the end of the run in time");
		run_cut(run, ENDING_SESSION_LOST, &f);
	}
}

/* Sets the output aside for a later answer. */
void run_answer_empty(struct run *run)
{
	AUTO(run_result_release) struct run_result kept = run->result;
	bool unsettled = run->prompt.unsettled;
	run->result = (struct run_result){ .queued = !run->sent };
	answer_running(run);
	run->prompt.told = false;
	run->prompt.unsettled = unsettled;
	run->result = kept;
	kept = (struct run_result){ 0 };
}

/* The wait is over. If connected, asks PID 1 for a mark; the answer contains everything up to it. */
static void take_stock(struct run *run)
{
	struct dispatch *d = run->dispatch;
	if (run->taking || !d->open) {
		run_answer_empty(run);
		return;
	}
	AUTO(buf_release) struct buf frame = { 0 };
	wire_put_take(&frame, run->call, /* aside= */ run->patience == FOR_A_WHILE);
	dispatch_send(d, &frame);
	run->taking = true;
	timer_start(run->timer, TAKE_MS, 0);
}

static void on_timer(void *ctx)
{
	struct run *run = ctx;
	if (!run->waiter)
		return;
	if (run->telling) {
		tell_when_drawn(run);
	} else if (run->ended) {
		tell_end(run);
	} else if (run->patience == TO_THE_END) {
		on_late(run);
	} else {
		take_stock(run);
	}
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct run *run_new(struct dispatch *d, uint32_t call, enum run_kind kind)
{
	struct run *run = new0(struct run);
	run->dispatch = d;
	run->call = call;
	run->kind = kind;
	run->started_ms = loop_now_ms();
	run->collect = collect_new(d->config);
	run->timer = timer_new(d->loop, on_timer, run);
	list_append(&d->runs, &run->node);
	return run;
}

void run_send(struct run *run)
{
	run->sent = true;
	dispatch_send(run->dispatch, &run->request);
}

static int put_request(struct buf *request, const struct dispatch *d, uint32_t call, const struct run_spec *spec)
{
	if (spec->kind == RUN_INSTALL) {
		wire_put_install(request, call, spec->install);
		return 0;
	}
	return wire_put_run(request, call,
			    &(struct wire_run){ .terminal = spec->kind == RUN_TERMINAL,
						.text = spec->text,
						.len = spec->len,
						.env = spec->env,
						.cwd = spec->cwd,
						.branch = spec->branch,
						.restart = spec->restart,
						.interactive = spec->interactive,
						.rows = spec->rows,
						.cols = spec->cols,
						.by = spec->by,
						.detached = spec->detached,
						.timeout_ms = spec->timeout_seconds * 1000,
						.stdout_limit = collect_stdout_limit(d->config),
						.stderr_limit = collect_stderr_limit(d->config),
						.keep_over = collect_keep_over(d->config) });
}

/* The number of runs that PID 1 holds, and the bytes of those that have not ended. */
static size_t held(const struct dispatch *d, size_t *ret_bytes)
{
	size_t n = 0;
	*ret_bytes = 0;
	list_for_each(run, &d->runs, struct run, node) {
		n++;
		*ret_bytes += run->ended ? 0 : run->request.len;
	}
	return n;
}

static bool is_task(const struct run *run)
{
	return run->waiter && run->waiter->holds;
}

/* True if the run may continue for long after its caller stopped waiting: it has no waiter, the caller may have
 * given up, or it is a task. */
static bool is_endless(const struct run *run)
{
	return is_kept(run) || run_is_old(run) || is_task(run);
}

/* How long a run that was just sent may be queued behind this one before its caller gets an answer; UINT64_MAX = no limit. */
static uint64_t queued_limit(const struct run *run)
{
	uint64_t age = loop_now_ms() - run->started_ms;
	if (run->prompt.open)
		return QUEUED_MOMENT_MS;
	if (!run->waiter || run->client || age < PARALLEL_MS)
		return UINT64_MAX;
	return age + QUEUED_MOMENT_MS < GIVEN_UP_MS ? GIVEN_UP_MS - age : QUEUED_MOMENT_MS;
}

/* Whether this run may have to wait for an endless run, for one whose caller may have given up, or for another client's. */
static bool is_behind_kept(const struct run *run, uint64_t *ret_limit)
{
	bool kept = false;
	*ret_limit = QUEUED_MS;
	list_for_each(other, &run->dispatch->runs, struct run, node) {
		bool foreign = other->client != run->client && !other->abandoned;
		if (other == run || other->kind != run->kind || other->ended || other->beside)
			continue;
		uint64_t limit = queued_limit(other);
		kept |= is_endless(other) || foreign || limit != UINT64_MAX;
		*ret_limit = MIN(*ret_limit, limit);
	}
	return kept;
}

static void set_patience(struct run *run, uint64_t wait_ms, uint64_t queued_ms)
{
	if (wait_ms != RUN_WAIT_FOR_END) {
		run->patience = FOR_A_WHILE;
		timer_start(run->timer, wait_ms, 0);
	} else if (run->after_kept && !run->client) { /* a client sees that its run is queued, and can interrupt it */
		run->patience = UNTIL_BEGUN;
		timer_start(run->timer, MIN(run->timeout_seconds * 1000, queued_ms), 0);
	} else {
		run_guard(run);
	}
}

uint32_t run_start(struct dispatch *d, const struct run_spec *spec, struct run_waiter *w, struct fail *f)
{
	AUTO(buf_release) struct buf request = { 0 };
	size_t bytes, n = held(d, &bytes);
	if (n >= RUNS_MAX || bytes + spec->len > QUEUE_BYTES_MAX) {
		cause_set(f, FAIL_BUSY, CAUSE_QUEUE_FULL,
			  "this session has %zu runs of %zu KiB waiting; the limits are %u runs and %u KiB", n,
			  bytes >> 10, RUNS_MAX, QUEUE_BYTES_MAX >> 10);
		return 0;
	}
	if (run_check_branch(d, spec, f) < 0)
		return 0;
	if (spec->len > CODE_BYTES_MAX || put_request(&request, d, d->last_call + 1, spec) < 0) {
		cause_set(f, FAIL_INVALID, CAUSE_TOO_LONG,
			  "the %s is too long (%zu bytes, at most %u) or not valid UTF-8",
			  spec->kind == RUN_TERMINAL ? "command" : "code", spec->len, CODE_BYTES_MAX);
		return 0;
	}
	struct run *run = run_new(d, dispatch_number(d), spec->kind);
	run->timeout_seconds = spec->timeout_seconds;
	if (spec->branch)
		memcpy(run->branch, spec->branch, strlen(spec->branch));
	run_prompt_begin(run, spec);
	run->request = request;
	request = (struct buf){ 0 };
	uint64_t queued_ms;
	run->detached = spec->detached;
	if (w) {
		run->waiter = w;
		run->client = w->client;
		w->run = run;
	}
	run->after_kept = is_behind_kept(run, &queued_ms);
	note_beginnings(d);
	if (w)
		set_patience(run, spec->wait_ms, queued_ms);
	d->used_ms = loop_now_ms();
	/* PID 1 accepts only increasing numbers. Before its hello, older runs may have to be sent first. */
	if (d->open)
		run_send(run);
	/* PID 1 works meanwhile. */
	run_record_begin(run, spec);
	return run->call;
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

/* PID 1 refused the run, and nothing ran. */
static void on_refused(struct run *run)
{
	AUTO(run_result_release) struct run_result result = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	collect_finish(run->collect, &result);
	bool invalid = result.cause == CAUSE_NO_DIRECTORY || result.cause == CAUSE_NO_BRANCH;
	cause_set(&f, invalid ? FAIL_INVALID : FAIL_BUSY, invalid ? result.cause : CAUSE_QUEUE_FULL, "%s",
		  result.detail ? result.detail : "the session refused the run");
	dispatch_ack(run->dispatch, run->call);
	fail_run(run, &f);
}

static void on_ended(struct run *run)
{
	struct dispatch *d = run->dispatch;
	d->used_ms = loop_now_ms();
	if (collect_refused(run->collect)) {
		on_refused(run);
		return;
	}
	take_piece(run);
	run->ended = true;
	run_result_name_timeout(&run->result, run->timeout_seconds);
	run_record_end(run, &run->result, NULL);
	note_beginnings(d);
	if (!is_kept(run) && !run->held)
		tell_end(run);
}

static int on_mark(struct run *run, const struct wire_frame *frame)
{
	struct wire_mark mark;
	if (wire_read_mark(frame, &mark) < 0)
		return -1;
	run->beside = mark.beside;
	run_prompt_read(run, frame);
	if (mark.number <= run->told) {
		/* This mark was reported, but its acknowledgement was lost with a connection. */
		AUTO(run_result_release) struct run_result known = { 0 };
		collect_finish(run->collect, &known);
		run_prompt_restart(run);
	} else {
		collect_mark(run->collect, &mark);
		take_piece(run);
	}
	run_record_mark(run, mark.number);
	run->result.queued = mark.queued;
	run->result.behind = mark.behind;
	bool enough = run->waiter && run->taking && (run->patience == FOR_A_WHILE || mark.queued);
	if (run->waiter && run->taking && !enough) {
		run->taking = false;
		run_guard(run);
	}
	if (enough) {
		tell_running(run, mark.number);
	} else if (mark.number <= run->told) {
		AUTO(buf_release) struct buf ack = { 0 };
		wire_put_mark_ack(&ack, run->call, mark.number);
		dispatch_send(run->dispatch, &ack);
	}
	return 0;
}

/* Reports the prompt to the waiter, with all output before it. */
static void report_prompt(struct run *run)
{
	if (run->waiter && run->patience == FOR_A_WHILE && !run->taking && run_prompt_is_due(run))
		timer_start(run->timer, 0, 0);
}

struct prepared *runs_prepare(struct dispatch *d, const struct wire_frame *frame)
{
	const struct run *run = run_find(d, frame->call);
	return run && !run->ended ? collect_prepare(run->collect, frame) : NULL;
}

void runs_take_prepared(struct dispatch *d, uint32_t call, struct prepared *p)
{
	struct run *run = run_find(d, call);
	if (run)
		collect_take_prepared(run->collect, p);
	else
		prepared_free(p);
}

int runs_frame(struct dispatch *d, const struct wire_frame *frame)
{
	struct run *run = run_find(d, frame->call);
	if (frame->type == FRAME_CALL && run)
		run_tell_replay(run);
	if (frame->type == FRAME_CALL)
		run = begin_again(d, run, frame);
	/* The replay of a run that was abandoned or reported: acknowledge its end, so that PID 1 forgets it. */
	if (!run && frame->type == FRAME_END)
		dispatch_ack(d, frame->call);
	if (!run)
		return 0;
	if (run->ended)
		return -1;
	run_catch_up(run, frame);
	if (frame->type == FRAME_MARK)
		return on_mark(run, frame);
	if (frame->type == FRAME_PROMPT)
		run_prompt_read(run, frame);
	if (frame->type == FRAME_PROMPT || frame->type == FRAME_CALL)
		report_prompt(run);
	if (frame->type == FRAME_PROMPT)
		return 0;
	int r = collect_frame(run->collect, frame);
	if (r < 0)
		return r;
	run_show_output(run, frame);
	run_record_frame(run, frame);
	if (r == 1)
		on_ended(run);
	return 0;
}

bool runs_busy(const struct dispatch *d)
{
	list_for_each(run, &d->runs, struct run, node)
		if (!run->ended)
			return true;
	return false;
}

void runs_release(struct dispatch *d)
{
	list_for_each(run, &d->runs, struct run, node) {
		(void)run_take_waiter(run);
		run->record = NULL; /* the run continues without this server, or its session has ended */
		run_free(run);
	}
}
