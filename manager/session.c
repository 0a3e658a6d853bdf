#include "manager/session.h"

#include <errno.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "manager/advice.h"
#include "manager/engine/inspect.h"

#define START_DEADLINE_MS 90000
#define ATTACH_RETRY_MS 100
#define ATTACH_RETRY_MAX_MS 5000
#define ATTACH_RETRIES 6u
/* After the stream broke because the container is gone: how long the engine's event with the cause may take. */
#define CAUSE_WAIT_MS 1500
/* PID 1 holds CALLS_MAX; cancelled ones linger until they have ended. */
#define RUNS_MAX (CALLS_MAX - 8)
/* What PID 1 may need beyond the time limit: interrupt, grace, kill, restart. */
#define RUN_GRACE_MS 60000
#define STUCK_MS 10000
/* A run whose end is this late has PID 1 asked for a sign of life, and gets this long for it: an engine that hangs or is not
 * there must not keep a caller waiting. */
#define LATE_MS 5000
#define SILENCE_MS 15000
/* An OOM that took PID 1 itself is followed by its death at once; an older one was some child's. */
#define OOM_TO_DEATH_MS 2000

static void attach(struct session *s);
static void on_closed(void *ctx, const struct fail *f);
static void session_die(struct session *s, const struct fail *cause);

static void set_state(struct session *s, enum session_state state)
{
	static const char *const names[] = { "starting", "ready", "stopping", "dead" };
	log_debug("session %s: %s -> %s", s->id, names[s->state], names[state]);
	s->state = state;
}

const char *session_state_name(const struct session *s)
{
	static const char *const names[] = { "starting", "running", "stopping", "dead" };
	return names[s->state];
}

/* --- runs -------------------------------------------------------------------------------------------------------- */

static void run_unlink(struct run *run)
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

/* Ends it with what has come so far and a cause of ours. hint NULL = by how it ended. */
static void run_cut(struct run *run, enum ending ending, const char *detail, const char *hint)
{
	AUTO(run_result_release) struct run_result result = { 0 };
	collect_finish(run->collect, &result);
	result.ending = ending;
	free(result.detail);
	result.detail = xstrdup(detail);
	result.hint = hint ? xstrdup(hint) : NULL;
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

static void cut_all_runs(struct session *s, enum ending ending, const char *detail, const char *hint)
{
	struct list runs;
	take_runs(s, &runs);
	list_for_each(run, &runs, struct run, node)
		run_cut(run, ending, detail, hint);
}

static void send_bytes(struct session *s, const struct buf *bytes)
{
	/* A write that fails closes the stream, and the replay after the next hello makes it good. */
	if (s->stream)
		(void)s->engine->ops->stream_write(s->stream, bytes->data, bytes->len);
}

void session_send(struct session *s, const struct buf *frames)
{
	send_bytes(s, frames);
}

static void send_frame(struct session *s, enum frame_type type, uint32_t call)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	wire_put(&bytes, type, call, NULL, 0);
	send_bytes(s, &bytes);
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
		send_frame(s, FRAME_INTERRUPT, run->call);
		run_cut(run, ENDING_SESSION_LOST, why,
			"It may have run, and may run still. Once `docker ps` answers "
			"again, look at what it did before you run it again; the session is kept for its lease.");
		return;
	}
	fail_set(&f, FAIL_ENGINE, "the session cannot be reached: %s", why);
	fail_hint(&f, "Nothing ran. The session is kept for its lease: try again once `docker ps` answers.");
	run_end(run, NULL, &f);
}

static void give_up_runs(struct session *s)
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
		send_frame(s, FRAME_PING, 0);
		timer_start(run->guard, SILENCE_MS, 0);
	} else if (s->heard_ms < run->asked_ms) {
		give_up_runs(s);
	} else if (loop_now_ms() - run->asked_ms < RUN_GRACE_MS - LATE_MS) {
		timer_start(run->guard, RUN_GRACE_MS - LATE_MS - SILENCE_MS, 0);
	} else {
		send_frame(s, FRAME_INTERRUPT, run->call);
		run_cut(run, ENDING_SESSION_LOST, "the container did not report the end of the run in time",
			/* hint= */ NULL);
	}
}

/* Runs of a kind wait for each other, so the guard covers all that are ahead, and this one up to where it is late. */
static uint64_t guard_ms(const struct session *s, const struct run *run)
{
	uint64_t ms = run->timeout_seconds * 1000 + LATE_MS;
	list_for_each(other, &s->runs, struct run, node)
		if (other != run && other->terminal == run->terminal)
			ms += other->timeout_seconds * 1000 + RUN_GRACE_MS;
	return ms;
}

static void send_run(struct session *s, struct run *run)
{
	run->sent = true;
	send_bytes(s, &run->request);
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
static void resume_runs(struct session *s, uint32_t last_known)
{
	list_for_each(run, &s->runs, struct run, node) {
		bool known = run->call <= last_known;
		if (run->abandoned && !known)
			run_end(run, NULL, NULL);
		else if (run->abandoned)
			send_frame(s, FRAME_INTERRUPT, run->call);
		else if (!known)
			send_run(s, run);
	}
}

void session_abandon(struct run *run)
{
	run->abandoned = true;
	if (run->session->greeted)
		send_frame(run->session, FRAME_INTERRUPT, run->call);
}

static struct run *find_run(struct session *s, uint32_t call)
{
	list_for_each(run, &s->runs, struct run, node)
		if (run->call == call)
			return run;
	return NULL;
}

static void run_ended(struct session *s, struct run *run)
{
	AUTO(run_result_release) struct run_result result = { 0 };
	bool refused = collect_refused(run->collect);
	send_frame(s, FRAME_ACK, run->call);
	collect_finish(run->collect, &result);
	s->used_ms = loop_now_ms();
	if (refused) {
		AUTO(fail_release) struct fail f = { 0 };
		fail_set(&f, FAIL_BUSY, "%s", result.detail ? result.detail : "the session does not take the call");
		run_end(run, NULL, &f);
		return;
	}
	advice_add(&result, run->terminal, run->timeout_seconds);
	run_end(run, &result, NULL);
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static void become_ready(struct session *s)
{
	if (s->state != SESSION_STARTING)
		return;
	s->deadline = timer_free(s->deadline);
	s->used_ms = loop_now_ms();
	set_state(s, SESSION_READY);
	s->owner.on_ready(s->owner.ctx, s);
}

static void on_event_frame(struct session *s, const struct wire_frame *frame)
{
	AUTO(freep) char *detail = NULL;
	AUTO(fail_release) struct fail f = { 0 };
	switch (wire_read_event(frame, &detail)) {
	case WIRE_EVENT_READY:
		become_ready(s);
		break;
	case WIRE_EVENT_FAILED:
		fail_set(&f, FAIL_DIED, "the %s kernel did not start: %s", s->runtime->name,
			 detail ? detail : "no reason given");
		session_die(s, &f);
		break;
	case WIRE_EVENT_ENDING:
		free(s->ending);
		s->ending = xstrdup(detail ? detail : "the container ended itself");
		break;
	case WIRE_EVENT_FENCED:
		fail_set(&f, FAIL_DIED, "another server has taken the session over");
		session_die(s, &f);
		break;
	case WIRE_EVENT_DIED:
	case WIRE_EVENT_OTHER:
		break;
	}
}

static int on_hello(struct session *s, const struct wire_frame *frame)
{
	struct wire_hello hello;
	AUTO(fail_release) struct fail f = { 0 };
	if (wire_read_hello(frame, &hello, &f) < 0) {
		session_die(s, &f);
		return -1;
	}
	s->greeted = true;
	s->attach_failures = 0;
	s->engine_away = false;
	fail_release(&s->trouble);
	s->last_call = MAX(s->last_call, hello.last_call);
	resume_runs(s, hello.last_call);
	if (hello.kernel_ready)
		become_ready(s);
	return 0;
}

/* Live output: the head as it comes, and once that is full the end of what was written, now and then. */
static void show_output(struct run *run, const struct wire_frame *frame)
{
	if (!run->on_output || run->abandoned)
		return;
	if (frame->type == FRAME_OUT || frame->type == FRAME_ERR)
		run->on_output(run, frame->type == FRAME_OUT ? 1 : 2, frame->payload, frame->n);
	if (frame->type != FRAME_PROGRESS)
		return;
	AUTO(freep) char *tail = wire_read_progress(frame);
	if (tail)
		run->on_output(run, 1, tail, strlen(tail));
}

static int on_run_frame(struct session *s, const struct wire_frame *frame)
{
	struct run *run = find_run(s, frame->call);
	int r;
	if (!run && transfers_frame(s, frame, &r))
		return r;
	if (!run) {
		/* The replay of a call that we gave up on, or that is not ours: its end lets PID 1 forget it. */
		if (frame->type == FRAME_END)
			send_frame(s, FRAME_ACK, frame->call);
		return 0;
	}
	r = collect_frame(run->collect, frame);
	if (r < 0)
		return r;
	show_output(run, frame);
	if (r == 1)
		run_ended(s, run);
	return 0;
}

/* 0, or negative when the stream is of no more use. */
static int on_frame(struct session *s, const struct wire_frame *frame)
{
	if (!s->greeted)
		return frame->type == FRAME_EVENT ? (on_event_frame(s, frame), 0) : on_hello(s, frame);
	if (frame->type == FRAME_PONG)
		return 0;
	if (frame->type == FRAME_EVENT) {
		on_event_frame(s, frame);
		return 0;
	}
	return frame->type == FRAME_HELLO ? -EPROTO : on_run_frame(s, frame);
}

static void stream_drop(struct session *s)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_ENGINE,
		 "the connection to the session broke while files were copied; nothing of it was kept");
	fail_hint(&f, "Try again.");
	transfers_lost(s, &f, /* gone= */ false);
	s->stream = s->engine->ops->stream_free(s->stream);
	wire_release(&s->wire);
	s->greeted = false;
}

static void on_retry(void *ctx)
{
	struct session *s = ctx;
	attach(s);
}

static void reattach_later(struct session *s)
{
	uint64_t delay = (uint64_t)ATTACH_RETRY_MS << MIN(s->attach_failures, ATTACH_RETRIES);
	timer_start(s->retry, MIN(delay, ATTACH_RETRY_MAX_MS), 0);
	s->attach_failures++;
}

/* The docker CLI tells of an exec that failed on the stream itself, in words, where PID 1's hello should be. */
static void attach_failed(struct session *s)
{
	AUTO(fail_release) struct fail f = { 0 };
	inspect_error(&f, "reach the session", buf_str(&s->wire.in), s->wire.in.len);
	on_closed(s, &f);
}

static void break_protocol(struct session *s)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (!s->greeted) {
		attach_failed(s);
		return;
	}
	fail_set(&f, FAIL_DIED, "the container broke Husk's protocol and was removed");
	session_die(s, &f);
}

static void on_bytes(void *ctx, const void *data, size_t n)
{
	struct session *s = ctx;
	struct wire_frame frame;
	struct engine_stream *stream = s->stream;
	int r;
	s->last_frame_ms = s->heard_ms = loop_now_ms();
	wire_feed(&s->wire, data, n);
	while ((r = wire_next(&s->wire, &frame)) == 1) {
		r = on_frame(s, &frame);
		/* The frame may have ended the session or its stream. */
		if (s->stream != stream || s->state == SESSION_DEAD)
			return;
		if (r < 0) {
			log_debug("session %s: frame of type %d, %zu bytes, call %u, not expected", s->id, frame.type,
				  frame.n, frame.call);
			break;
		}
	}
	if (r < 0)
		break_protocol(s);
}

/* --- endings ----------------------------------------------------------------------------------------------------- */

static void on_removed(void *ctx, const struct fail *f)
{
	struct session *s = ctx;
	s->task = NULL;
	if (s->state == SESSION_STOPPING)
		s->owner.on_stopped(s->owner.ctx, s, f);
}

static void session_die(struct session *s, const struct fail *cause)
{
	if (s->state == SESSION_DEAD || s->state == SESSION_STOPPING)
		return;
	fail_copy(&s->death, cause);
	set_state(s, SESSION_DEAD);
	transfers_lost(s, cause, /* gone= */ true);
	stream_drop(s);
	s->heartbeat = timer_free(s->heartbeat);
	s->deadline = timer_free(s->deadline);
	timer_stop(s->retry);
	/* Whatever is left of it; --rm has usually done the work. */
	if (s->task)
		s->engine->ops->task_cancel(take_ptr(s->task));
	s->task = s->engine->ops->remove(s->engine, s->container, on_removed, s);
	cut_all_runs(s, cause->kind == FAIL_DIED ? ENDING_CONTAINER_DIED : ENDING_SESSION_LOST, s->death.message,
		     /* hint= */ NULL);
	s->owner.on_dead(s->owner.ctx, s);
}

void session_keep_dead(struct session *s, const struct fail *why)
{
	fail_copy(&s->death, why);
	set_state(s, SESSION_DEAD);
}

void session_end(struct session *s, const struct fail *cause)
{
	session_die(s, cause);
}

/* Of a container that is not there, if no event told more. */
static const char *absence(const struct session *s)
{
	if (s->ending)
		return s->ending;
	return s->engine_away ? "container no longer exists (the Docker engine ended it when it was restarted)" :
				"container no longer exists (removed externally)";
}

static void on_cause_wait_over(void *ctx)
{
	struct session *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_DIED, "%s", absence(s));
	session_die(s, &f);
}

static void wait_for_cause(struct session *s)
{
	if (!s->deadline)
		s->deadline = timer_new(s->loop, on_cause_wait_over, s);
	timer_start(s->deadline, CAUSE_WAIT_MS, 0);
}

void session_on_event(struct session *s, const struct engine_event *event)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *reason = NULL;
	bool oom;
	switch (event->kind) {
	case EVENT_OOM:
		s->oom_ms = loop_now_ms();
		return;
	case EVENT_DIE:
		/* The engine's OOM flag alone means nothing: with exit status 137 just after, it was PID 1 that the kernel chose. */
		oom = event->exit_code == 137 && s->oom_ms && loop_now_ms() - s->oom_ms < OOM_TO_DEATH_MS;
		reason = s->ending ? xstrdup(s->ending) : inspect_death_reason(oom, event->exit_code);
		break;
	case EVENT_DESTROY:
		reason = xstrdup(absence(s));
		break;
	}
	/* While the engine is still at its creation, how that ends says more: the engine also clears away what it failed at. */
	if (s->state == SESSION_STARTING && s->task) {
		if (event->kind == EVENT_DIE && !s->ending)
			s->ending = take_ptr(reason);
		return;
	}
	fail_set(&f, FAIL_DIED, "%s", reason);
	session_die(s, &f);
}

static void on_closed(void *ctx, const struct fail *f)
{
	struct session *s = ctx;
	bool starting = s->state == SESSION_STARTING;
	log_debug("session %s: stream closed: %s", s->id, f->message);
	stream_drop(s);
	if (s->state == SESSION_DEAD || s->state == SESSION_STOPPING)
		return;
	fail_copy(&s->trouble, f);
	s->engine_away |= inspect_no_engine(f);
	if (f->kind == FAIL_DIED && !starting) {
		wait_for_cause(s);
		return;
	}
	/* An engine that restarts takes its time; PID 1 keeps everything for the lease. */
	bool in_lease = !starting && loop_now_ms() - s->heard_ms < s->config->lease * 1000;
	if (s->attach_failures < ATTACH_RETRIES || in_lease)
		reattach_later(s);
	else
		session_die(s, f);
}

static void attach(struct session *s)
{
	struct stream_handler handler = { .on_bytes = on_bytes, .on_closed = on_closed, .ctx = s };
	AUTO(buf_release) struct buf hello = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	s->stream = s->engine->ops->attach(s->engine, s->container, &handler, &f);
	if (!s->stream) {
		on_closed(s, &f);
		return;
	}
	wire_put_hello(&hello, s->fence);
	send_bytes(s, &hello);
	s->last_frame_ms = loop_now_ms();
}

static void on_heartbeat(void *ctx)
{
	struct session *s = ctx;
	if (!s->stream)
		return;
	uint64_t silent = loop_now_ms() - s->last_frame_ms;
	if (silent > s->config->lease * 1000 / 4 + STUCK_MS) {
		AUTO(fail_release) struct fail f = { 0 };
		fail_set(&f, FAIL_ENGINE, "the container has not answered for %llu s",
			 (unsigned long long)silent / 1000);
		on_closed(s, &f);
		return;
	}
	send_frame(s, FRAME_PING, 0);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

static void on_created(void *ctx, const struct fail *f)
{
	struct session *s = ctx;
	s->task = NULL;
	if (s->state != SESSION_STARTING)
		return;
	if (f) {
		session_die(s, f);
		return;
	}
	if (s->ending) {
		on_cause_wait_over(s);
		return;
	}
	attach(s);
	if (s->state == SESSION_STARTING)
		timer_start(s->heartbeat, s->config->lease * 1000 / 4, s->config->lease * 1000 / 4);
}

static void on_start_deadline(void *ctx)
{
	struct session *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_TIMEOUT, "the %s kernel did not start in %d s", s->runtime->name, START_DEADLINE_MS / 1000);
	fail_hint(&f, "the machine may be overloaded: stop sessions that are no longer needed and try again");
	session_die(s, &f);
}

static void start_container(struct session *s, const struct session_params *p)
{
	const struct config *c = s->config;
	struct container_spec spec = {
		.name = s->container,
		.image = p->image,
		.session = s->id,
		.owner = p->owner_id,
		.thread = p->thread,
		.expires = (uint64_t)time(NULL) + c->max_lifetime,
		.memory = c->memory_limit,
		.cpu_quota = c->cpu_quota,
		.pids = c->pids_limit,
		.tmpfs = c->tmpfs_size,
		.lease = c->lease,
		.lifetime = c->max_lifetime,
		.network = p->network,
		.keep_proxies = c->proxy_enabled,
		.ca_bundle = c->ca_bundle,
	};
	s->task = s->engine->ops->create(s->engine, &spec, on_created, s);
}

struct session *session_new(const struct session_params *p)
{
	struct session *s = new0(struct session);
	token_make(s->id);
	s->container = xasprintf("husk-%s", s->id);
	s->runtime = p->runtime;
	s->loop = p->loop;
	s->engine = p->engine;
	s->config = p->config;
	s->owner = p->owner;
	s->fence = 1;
	s->created_ms = s->used_ms = loop_now_ms();
	list_init(&s->node);
	list_init(&s->runs);
	list_init(&s->transfers);
	s->heartbeat = timer_new(s->loop, on_heartbeat, s);
	s->retry = timer_new(s->loop, on_retry, s);
	s->deadline = timer_new(s->loop, on_start_deadline, s);
	timer_start(s->deadline, START_DEADLINE_MS, 0);
	start_container(s, p);
	return s;
}

void session_stop(struct session *s)
{
	if (s->state == SESSION_STOPPING)
		return;
	bool dead = s->state == SESSION_DEAD;
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_DIED, "stop_session ended the session while files were copied");
	set_state(s, SESSION_STOPPING);
	transfers_lost(s, &f, /* gone= */ true);
	stream_drop(s);
	s->heartbeat = timer_free(s->heartbeat);
	s->deadline = timer_free(s->deadline);
	timer_stop(s->retry);
	/* A create that is under way is cancelled, which removes what it made; a removal after a death is left to end. */
	if (s->task && !dead)
		s->engine->ops->task_cancel(take_ptr(s->task));
	if (!s->task)
		s->task = s->engine->ops->remove(s->engine, s->container, on_removed, s);
	cut_all_runs(s, ENDING_INTERRUPTED, "stop_session ended the session while this ran",
		     "The session is gone with its variables and files; create_session makes a new one.");
}

struct session *session_free(struct session *s)
{
	if (!s)
		return NULL;
	list_remove(&s->node);
	list_for_each(run, &s->runs, struct run, node) {
		run_unlink(run);
		run->collect = collect_free(run->collect);
		if (run->abandoned)
			free(run);
	}
	if (s->task)
		s->engine->ops->task_cancel(take_ptr(s->task));
	stream_drop(s);
	timer_free(s->heartbeat);
	timer_free(s->deadline);
	timer_free(s->retry);
	fail_release(&s->death);
	fail_release(&s->trouble);
	free(s->ending);
	free(s->container);
	free(s);
	return NULL;
}
