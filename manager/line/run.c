#include "manager/line/run.h"

#include "base/alloc.h"
#include "manager/model/cause.h"

/* PID 1 holds CALLS_MAX; cancelled ones linger until they have ended. */
#define RUNS_MAX (CALLS_MAX - 64)
/* What PID 1 may need beyond the time limit: interrupt, grace, kill, restart. */
#define RUN_GRACE_MS 60000
/* Of a run whose own limit we do not know. */
#define TIMEOUT_MAX_MS 300000
/* A run whose end is this late has PID 1 asked for a sign of life, and gets this long for it: an engine that hangs or is not
 * there must not keep a caller waiting. */
#define LATE_MS 5000
#define SILENCE_MS 15000

static void run_unlink(struct run *run)
{
	list_remove(&run->node);
	buf_release(&run->request);
	run->guard = timer_free(run->guard);
	run->collect = collect_free(run->collect);
}

/* One that nobody else owns. */
static void run_free(struct run *run)
{
	run_unlink(run);
	run_result_release(&run->result);
	free(run);
}

static void run_end(struct run *run, struct run_result *result, const struct fail *f)
{
	if (run->abandoned) {
		run_free(run);
		return;
	}
	run_unlink(run);
	run->on_end(run, result, f);
}

static struct run *find(struct dispatch *c, uint32_t call)
{
	list_for_each(run, &c->runs, struct run, node)
		if (run->call == call)
			return run;
	return NULL;
}

/* PID 1 runs those of a kind one after the other and does not say when it begins. */
static void note_beginnings(struct dispatch *c)
{
	bool busy[RUN_INSTALL + 1] = { false };
	list_for_each(run, &c->runs, struct run, node) {
		if (run->ended)
			continue;
		if (!busy[run->kind] && !run->began_ms)
			run->began_ms = loop_now_ms();
		busy[run->kind] = true;
	}
}

/* --- a former server's ------------------------------------------------------------------------------------------- */

/* Adds all of them to a result, and acknowledges and forgets those that have ended. */
static void tell_earlier(struct dispatch *c, struct run_result *result)
{
	list_for_each(run, &c->runs, struct run, node) {
		if (!run->earlier)
			continue;
		result->earlier = xrealloc(result->earlier, (result->n_earlier + 1) * sizeof(*result->earlier));
		result->earlier[result->n_earlier++] = (struct earlier_result){
			.seq = run->call, .kind = run->kind, .ended = run->ended, .result = run->result
		};
		run->result = (struct run_result){ 0 };
		if (run->ended) {
			dispatch_ack(c, run->call);
			run_free(run);
		}
	}
}

/* A replay starts over, also of a run that had ended before the connection broke. */
static struct run *begin_earlier(struct dispatch *c, const struct wire_frame *frame)
{
	struct run *run = find(c, frame->call);
	if (run)
		run_free(run);
	run = new0(struct run);
	run->dispatch = c;
	run->call = frame->call;
	run->kind = wire_read_call(frame);
	run->earlier = true;
	run->collect = collect_new(c->config);
	list_append(&c->runs, &run->node);
	return run;
}

/* Also the replay of a call that we gave up on: its end lets PID 1 forget it. */
static int earlier_frame(struct dispatch *c, struct run *run, const struct wire_frame *frame)
{
	if (frame->type == FRAME_CALL && frame->call <= c->last_earlier)
		run = begin_earlier(c, frame);
	if (!run && frame->type == FRAME_END)
		dispatch_ack(c, frame->call);
	if (!run)
		return 0;
	if (run->ended)
		return -1;
	int got = collect_frame(run->collect, frame);
	if (got <= 0)
		return got;
	if (collect_refused(run->collect)) {
		dispatch_ack(c, run->call);
		run_free(run);
		return 0;
	}
	collect_finish(run->collect, &run->result);
	run->ended = true;
	return 0;
}

/* --- how it ends ------------------------------------------------------------------------------------------------- */

/* What the reference's results say of a run that took too long. */
static void name_timeout(struct run_result *r, uint64_t timeout_seconds)
{
	unsigned long long s = timeout_seconds;
	if (r->ending != ENDING_TIMEOUT)
		return;
	if (!r->detail)
		r->detail = xasprintf("stopped after %llu s", s);
	if (!r->error_type) {
		r->error_type = xstrdup("TimeoutError");
		r->error_message = xasprintf("Execution timed out after %llus", s);
	}
}

static void answer(struct run *run, struct run_result *result)
{
	if (!run->abandoned && run->kind != RUN_INSTALL)
		tell_earlier(run->dispatch, result);
	name_timeout(result, run->timeout_seconds);
	run_end(run, result, NULL);
}

/* Answered with the output so far and a cause of our own. */
static void run_cut(struct run *run, enum ending ending, const struct fail *why)
{
	AUTO(run_result_release) struct run_result result = { 0 };
	collect_finish(run->collect, &result);
	result.ending = ending;
	result.cause = cause_of(why);
	result.duration_ms = run->began_ms ? loop_now_ms() - run->began_ms : 0;
	free(result.detail);
	result.detail = xstrdup(why->message);
	answer(run, &result);
}

/* A callback may start or stop runs: whoever goes through all of them collects them first. */
static void take_runs(struct dispatch *c, struct list *runs)
{
	list_init(runs);
	list_for_each(run, &c->runs, struct run, node) {
		if (run->earlier)
			continue;
		list_remove(&run->node);
		list_append(runs, &run->node);
	}
}

void runs_cut(struct dispatch *c, enum ending ending, const struct fail *why)
{
	struct list runs;
	take_runs(c, &runs);
	for (struct run *run; (run = list_first(&runs, struct run, node));)
		run_cut(run, ending, why);
}

/* PID 1 is silent: nobody can tell how a run ended, and what was never sent has not run. */
static void give_up_run(struct run *run)
{
	struct dispatch *c = run->dispatch;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *why = c->trouble.kind ? xstrdup(c->trouble.message) :
						  xasprintf("the container engine did not answer for %llu s",
							    (unsigned long long)(loop_now_ms() - c->heard_ms) / 1000);
	if (run->sent) {
		dispatch_send_frame(c, FRAME_INTERRUPT, run->call);
		cause_set(&f, FAIL_ENGINE, CAUSE_NO_ANSWER, "%s", why);
		run_cut(run, ENDING_SESSION_LOST, &f);
		return;
	}
	cause_set(&f, FAIL_ENGINE, CAUSE_NO_ANSWER, "the session cannot be reached: %s", why);
	fail_hint(&f, "Nothing ran. The session is kept for its lease: try again once the engine answers.");
	run_end(run, NULL, &f);
}

static void runs_give_up(struct dispatch *c)
{
	struct list runs;
	take_runs(c, &runs);
	for (struct run *run; (run = list_first(&runs, struct run, node));)
		give_up_run(run);
}

static void on_guard(void *ctx)
{
	struct run *run = ctx;
	struct dispatch *c = run->dispatch;
	if (!run->asked_ms) {
		run->asked_ms = loop_now_ms();
		dispatch_send_frame(c, FRAME_PING, 0);
		timer_start(run->guard, SILENCE_MS, 0);
	} else if (c->heard_ms < run->asked_ms) {
		runs_give_up(c);
	} else if (loop_now_ms() - run->asked_ms < RUN_GRACE_MS - LATE_MS) {
		timer_start(run->guard, RUN_GRACE_MS - LATE_MS - SILENCE_MS, 0);
	} else {
		AUTO(fail_release) struct fail f = { 0 };
		dispatch_send_frame(c, FRAME_INTERRUPT, run->call);
		cause_set(&f, FAIL_ENGINE, CAUSE_NO_END, "the container did not report the end of the run in time");
		run_cut(run, ENDING_SESSION_LOST, &f);
	}
}

/* Runs of a kind wait for each other, so the guard covers all that are ahead, and this one up to where it is late. */
static uint64_t guard_ms(const struct run *run)
{
	uint64_t ms = run->timeout_seconds * 1000 + LATE_MS;
	list_for_each(other, &run->dispatch->runs, struct run, node) {
		if (other == run || other->kind != run->kind || other->ended)
			continue;
		ms += (other->earlier ? TIMEOUT_MAX_MS : other->timeout_seconds * 1000) + RUN_GRACE_MS;
	}
	return ms;
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void send_run(struct run *run)
{
	run->sent = true;
	dispatch_send(run->dispatch, &run->request);
}

static int put_request(struct run *run, const struct dispatch *c, uint32_t call, const struct run_spec *spec)
{
	if (run->kind == RUN_INSTALL) {
		wire_put_install(&run->request, call, spec->install);
		return 0;
	}
	return wire_put_run(&run->request, call,
			    &(struct wire_run){ .terminal = run->kind == RUN_TERMINAL,
						.text = spec->text,
						.len = spec->len,
						.env = spec->env,
						.cwd = spec->cwd,
						.timeout_ms = run->timeout_seconds * 1000,
						.stdout_limit = collect_stdout_limit(c->config),
						.stderr_limit = collect_stderr_limit(c->config) });
}

/* Calls that PID 1 has not ended, and what they hold there. */
static size_t waiting(const struct dispatch *c, size_t *ret_bytes)
{
	size_t n = 0;
	*ret_bytes = 0;
	list_for_each(run, &c->runs, struct run, node) {
		n += !run->earlier;
		*ret_bytes += run->request.len;
	}
	return n;
}

int run_start(struct run *run, struct dispatch *c, const struct run_spec *spec, struct fail *f)
{
	size_t bytes, n = waiting(c, &bytes);
	if (n >= RUNS_MAX || bytes + spec->len > QUEUE_BYTES_MAX)
		return cause_set(f, FAIL_BUSY, CAUSE_QUEUE_FULL,
				 "this session has %zu calls of %zu KiB waiting; it takes %u, and %u KiB", n,
				 bytes >> 10, RUNS_MAX, QUEUE_BYTES_MAX >> 10);
	if (spec->len > CODE_BYTES_MAX || put_request(run, c, c->last_call + 1, spec) < 0) {
		buf_release(&run->request);
		return cause_set(f, FAIL_INVALID, CAUSE_TOO_LONG,
				 "the %s is too long (%zu bytes, at most %u) or not valid UTF-8",
				 run->kind == RUN_TERMINAL ? "command" : "code", spec->len, CODE_BYTES_MAX);
	}
	run->dispatch = c;
	run->call = dispatch_number(c);
	run->collect = collect_new(c->config);
	list_append(&c->runs, &run->node);
	note_beginnings(c);
	run->guard = timer_new(c->loop, on_guard, run);
	timer_start(run->guard, guard_ms(run), 0);
	c->used_ms = loop_now_ms();
	/* PID 1 takes rising numbers only: before its hello, older runs may have to go first. */
	if (c->open)
		send_run(run);
	return 0;
}

void run_abandon(struct run *run)
{
	run->abandoned = true;
	if (run->dispatch->open)
		dispatch_send_frame(run->dispatch, FRAME_INTERRUPT, run->call);
}

void run_forget(struct run *run)
{
	run->abandoned = true;
}

void runs_resume(struct dispatch *c, uint32_t last_known)
{
	list_for_each(run, &c->runs, struct run, node) {
		bool known = run->call <= last_known;
		if (run->earlier)
			continue;
		if (run->abandoned && !known)
			run_free(run);
		else if (run->abandoned)
			dispatch_send_frame(c, FRAME_INTERRUPT, run->call);
		else if (!known)
			send_run(run);
	}
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static void show_output(struct run *run, const struct wire_frame *frame)
{
	AUTO(freep) char *tail = NULL;
	if (run->abandoned)
		return;
	switch (frame->type) {
	case FRAME_OUT:
	case FRAME_ERR:
		if (run->on_output)
			run->on_output(run, frame->type == FRAME_OUT ? 1 : 2, frame->payload, frame->n);
		break;
	case FRAME_OUT_TAIL:
	case FRAME_ERR_TAIL:
		if (run->on_tail)
			run->on_tail(run, frame->type == FRAME_OUT_TAIL ? 1 : 2, frame->payload, frame->n);
		break;
	case FRAME_PROGRESS:
		tail = run->on_output || run->on_tail ? wire_read_progress(frame) : NULL;
		if (tail && run->on_tail)
			run->on_tail(run, 1, tail, strlen(tail));
		else if (tail)
			run->on_output(run, 1, tail, strlen(tail));
		break;
	case FRAME_CALL:
		if (run->on_replay)
			run->on_replay(run);
		break;
	default:
		break;
	}
}

static void run_ended(struct run *run)
{
	struct dispatch *c = run->dispatch;
	AUTO(run_result_release) struct run_result result = { 0 };
	bool refused = collect_refused(run->collect);
	run->ended = true;
	note_beginnings(c);
	dispatch_ack(c, run->call);
	collect_finish(run->collect, &result);
	c->used_ms = loop_now_ms();
	if (!refused) {
		answer(run, &result);
		return;
	}
	AUTO(fail_release) struct fail f = { 0 };
	bool invalid = result.cause == CAUSE_NO_DIRECTORY;
	cause_set(&f, invalid ? FAIL_INVALID : FAIL_BUSY, invalid ? result.cause : CAUSE_QUEUE_FULL, "%s",
		  result.detail ? result.detail : "the session does not take the call");
	run_end(run, NULL, &f);
}

int runs_frame(struct dispatch *c, const struct wire_frame *frame)
{
	struct run *run = find(c, frame->call);
	if (!run || run->earlier)
		return earlier_frame(c, run, frame);
	int r = collect_frame(run->collect, frame);
	if (r < 0)
		return r;
	show_output(run, frame);
	if (r == 1)
		run_ended(run);
	return 0;
}

bool runs_busy(const struct dispatch *c)
{
	list_for_each(run, &c->runs, struct run, node)
		if (!run->ended)
			return true;
	return false;
}

void runs_release(struct dispatch *c)
{
	list_for_each(run, &c->runs, struct run, node) {
		if (run->abandoned || run->earlier)
			run_free(run);
		else
			run_unlink(run);
	}
}
