/* The runs of a session: sent, guarded, answered once. */
#include "base/alloc.h"
#include "manager/session/advice.h"
#include "manager/session/session-private.h"

/* PID 1 holds CALLS_MAX; cancelled ones linger until they have ended. */
#define RUNS_MAX (CALLS_MAX - 8)
/* What PID 1 may need beyond the time limit: interrupt, grace, kill, restart. */
#define RUN_GRACE_MS 60000
/* Of a run whose own limit we do not know. */
#define TIMEOUT_MAX_MS 300000
/* A run whose end is this late has PID 1 asked for a sign of life, and gets this long for it: an engine that hangs or is not
 * there must not keep a caller waiting. */
#define LATE_MS 5000
#define SILENCE_MS 15000

void run_unlink(struct run *run)
{
	list_remove(&run->node);
	buf_release(&run->request);
	run->guard = timer_free(run->guard);
}

static void run_end(struct run *run, struct run_result *result, const struct fail *f)
{
	run_unlink(run);
	run->collect = collect_free(run->collect);
	if (run->abandoned)
		free(run);
	else
		run->on_end(run, result, f);
}

/* What the reader of a result has to know of its session: what was not told yet, and that it will not be there for long. */
static void add_news(struct session *s, struct run *run, struct run_result *result)
{
	uint64_t now = loop_now_ms();
	if (run->abandoned)
		return;
	earlier_tell(&s->earlier, result);
	for (size_t i = 0; i < result->n_earlier; i++)
		if (result->earlier[i].ended)
			session_send_frame(s, FRAME_ACK, (uint32_t)result->earlier[i].seq);
	if (s->state == SESSION_READY)
		result->notice = advice_notice(s->ends_ms ? s->ends_ms - MIN(now, s->ends_ms) : UINT64_MAX,
					       s->config->max_lifetime, s->config->idle_ttl);
}

/* Ends it with what has come so far and a cause of ours. hint NULL = by how it ended. */
static void run_cut(struct run *run, enum ending ending, const char *detail, const char *hint)
{
	AUTO(run_result_release) struct run_result result = { 0 };
	collect_finish(run->collect, &result);
	result.ending = ending;
	free(result.detail);
	result.detail = xstrdup(detail);
	result.hint = hint ? xstrdup(hint) : NULL;
	add_news(run->session, run, &result);
	advice_add(&result, run->terminal, run->timeout_seconds);
	run_end(run, &result, NULL);
}

/* A callback may start or stop things: who goes through all runs takes them first. */
static void take_runs(struct session *s, struct list *runs)
{
	list_init(runs);
	list_for_each(run, &s->runs, struct run, node) {
		list_remove(&run->node);
		list_append(runs, &run->node);
	}
}

void runs_cut(struct session *s, enum ending ending, const char *detail, const char *hint)
{
	struct list runs;
	take_runs(s, &runs);
	list_for_each(run, &runs, struct run, node)
		run_cut(run, ending, detail, hint);
}

/* Nothing comes from PID 1: no run can be told how it ended, and what was never sent has not run. */
static void give_up_run(struct session *s, struct run *run)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *why = NULL;
	why = s->trouble.kind ? xstrdup(s->trouble.message) :
				xasprintf("the Docker engine did not answer for %llu s",
					  (unsigned long long)(loop_now_ms() - s->heard_ms) / 1000);
	if (run->sent) {
		session_send_frame(s, FRAME_INTERRUPT, run->call);
		run_cut(run, ENDING_SESSION_LOST, why,
			"It may have run, and may run still. Once `docker ps` answers again, look at what it did before you run it again; the session is kept for its lease.");
		return;
	}
	fail_set(&f, FAIL_ENGINE, "the session cannot be reached: %s", why);
	fail_hint(&f, "Nothing ran. The session is kept for its lease: try again once `docker ps` answers.");
	run_end(run, NULL, &f);
}

static void runs_give_up(struct session *s)
{
	struct list runs;
	take_runs(s, &runs);
	list_for_each(run, &runs, struct run, node)
		give_up_run(s, run);
}

static void on_guard(void *ctx)
{
	struct run *run = ctx;
	struct session *s = run->session;
	if (!run->asked_ms) {
		run->asked_ms = loop_now_ms();
		session_send_frame(s, FRAME_PING, 0);
		timer_start(run->guard, SILENCE_MS, 0);
	} else if (s->heard_ms < run->asked_ms) {
		runs_give_up(s);
	} else if (loop_now_ms() - run->asked_ms < RUN_GRACE_MS - LATE_MS) {
		timer_start(run->guard, RUN_GRACE_MS - LATE_MS - SILENCE_MS, 0);
	} else {
		session_send_frame(s, FRAME_INTERRUPT, run->call);
		run_cut(run, ENDING_SESSION_LOST, "the container did not report the end of the run in time",
			/* hint= */ NULL);
	}
}

/* Runs of a kind wait for each other, so the guard covers all that are ahead, and this one up to where it is late. */
static uint64_t guard_ms(const struct session *s, const struct run *run)
{
	uint64_t ms = run->timeout_seconds * 1000 + LATE_MS;
	ms += earlier_running(&s->earlier, run->terminal) * (TIMEOUT_MAX_MS + RUN_GRACE_MS);
	list_for_each(other, &s->runs, struct run, node)
		if (other != run && other->terminal == run->terminal)
			ms += other->timeout_seconds * 1000 + RUN_GRACE_MS;
	return ms;
}

static void send_run(struct session *s, struct run *run)
{
	run->sent = true;
	session_send(s, &run->request);
}

int session_run(struct session *s, struct run *run, const char *text, size_t len, struct fail *f)
{
	size_t n = 0;
	list_for_each(other, &s->runs, struct run, node)
		n++;
	if (n >= RUNS_MAX)
		return fail_set(f, FAIL_BUSY, "session '%s' has %zu calls waiting, the most it takes", s->id, n);
	struct wire_run frame = {
		.terminal = run->terminal,
		.text = text,
		.len = len,
		.timeout_ms = run->timeout_seconds * 1000,
		.stdout_limit = collect_stdout_limit(s->config),
		.stderr_limit = collect_stderr_limit(s->config),
	};
	if (len > CODE_BYTES_MAX || wire_put_run(&run->request, s->last_call + 1, &frame) < 0)
		return fail_set(f, FAIL_INVALID, "the %s is too long (%zu bytes, at most %u) or not valid UTF-8",
				run->terminal ? "command" : "code", len, CODE_BYTES_MAX);
	run->call = ++s->last_call;
	run->session = s;
	run->collect = collect_new(s->config);
	list_append(&s->runs, &run->node);
	run->guard = timer_new(s->loop, on_guard, run);
	timer_start(run->guard, guard_ms(s, run), 0);
	s->used_ms = loop_now_ms();
	/* PID 1 takes rising numbers only: before its hello, older runs may have to go first. */
	if (s->greeted)
		send_run(s, run);
	return 0;
}

/* After a new hello: PID 1 replays what it knows; what it never heard of is sent again. */
void runs_resume(struct session *s, uint32_t last_known)
{
	list_for_each(run, &s->runs, struct run, node) {
		bool known = run->call <= last_known;
		if (run->abandoned && !known)
			run_end(run, NULL, NULL);
		else if (run->abandoned)
			session_send_frame(s, FRAME_INTERRUPT, run->call);
		else if (!known)
			send_run(s, run);
	}
}

void session_abandon(struct run *run)
{
	run->abandoned = true;
	if (run->session->greeted)
		session_send_frame(run->session, FRAME_INTERRUPT, run->call);
}

struct run *runs_find(struct session *s, uint32_t call)
{
	list_for_each(run, &s->runs, struct run, node)
		if (run->call == call)
			return run;
	return NULL;
}

void run_ended(struct session *s, struct run *run)
{
	AUTO(run_result_release) struct run_result result = { 0 };
	bool refused = collect_refused(run->collect);
	session_send_frame(s, FRAME_ACK, run->call);
	collect_finish(run->collect, &result);
	s->used_ms = loop_now_ms();
	if (refused) {
		AUTO(fail_release) struct fail f = { 0 };
		fail_set(&f, FAIL_BUSY, "%s", result.detail ? result.detail : "the session does not take the call");
		run_end(run, NULL, &f);
		return;
	}
	add_news(s, run, &result);
	advice_add(&result, run->terminal, run->timeout_seconds);
	run_end(run, &result, NULL);
}
