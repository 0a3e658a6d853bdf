#include "manager/session/session.h"

#include <errno.h>
#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "manager/deps/set.h"
#include "manager/session/session-private.h"

#define START_DEADLINE_MS 90000
#define ATTACH_RETRY_MS 100
#define ATTACH_RETRY_MAX_MS 5000
#define ATTACH_RETRIES 6u
/* After the stream broke because the container is gone: how long the engine's event with the cause may take. */
#define CAUSE_WAIT_MS 1500
#define STUCK_MS 10000
/* An OOM that took PID 1 itself is followed by its death at once; an older one was some child's. */
#define OOM_TO_DEATH_MS 2000

static void attach(struct session *s);
static void on_closed(void *ctx, const struct fail *f);
static void session_die(struct session *s, const struct fail *cause);

static void set_state(struct session *s, enum session_state state)
{
	static const char *const names[] = { "starting", "adopting", "ready", "stopping", "dead" };
	log_debug("session %s: %s -> %s", s->id, names[s->state], names[state]);
	s->state = state;
}

const char *session_state_name(const struct session *s)
{
	static const char *const names[] = { "starting", "adopting", "running", "stopping", "dead" };
	return names[s->state];
}

void session_send(struct session *s, const struct buf *frames)
{
	if (s->stream)
		(void)s->engine->ops->stream_write(s->stream, frames->data, frames->len);
}

void session_send_frame(struct session *s, enum frame_type type, uint32_t call)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	wire_put(&bytes, type, call, NULL, 0);
	session_send(s, &bytes);
}

bool session_is_busy(const struct session *s)
{
	return !list_empty(&s->runs) || transfers_busy(s) || earlier_running(&s->earlier, false) ||
	       earlier_running(&s->earlier, true);
}

/* --- frames ------------------------------------------------------------------------------------------------------ */

static void become_ready(struct session *s)
{
	if (s->state != SESSION_STARTING && s->state != SESSION_ADOPTING)
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
		session_lose(s);
		break;
	case WIRE_EVENT_DIED:
	case WIRE_EVENT_OTHER:
		break;
	}
}

/* A session is kept by the settings of the server that made it. */
static void note_times(struct session *s, const struct wire_hello *hello)
{
	s->ends_ms = hello->has_lifetime ? loop_now_ms() + hello->lifetime_left_seconds * 1000 : 0;
	if (hello->lease_seconds && hello->lease_seconds * 1000 != s->lease_ms) {
		s->lease_ms = hello->lease_seconds * 1000;
		timer_start(s->heartbeat, s->lease_ms / 4, s->lease_ms / 4);
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
	if (s->state == SESSION_ADOPTING)
		s->earlier.last_call = hello.last_call;
	note_times(s, &hello);
	runs_resume(s, hello.last_call);
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
	struct run *run = runs_find(s, frame->call);
	int r;
	if (!run && transfers_frame(s, frame, &r))
		return r;
	if (!run) {
		/* A former server's, or the replay of a call that we gave up on: its end lets PID 1 forget it. */
		int over = earlier_frame(&s->earlier, frame);
		if (over > 0)
			session_send_frame(s, FRAME_ACK, frame->call);
		return MIN(over, 0);
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
	fail_set(
		&f, FAIL_ENGINE,
		"the connection to the session broke while files were copied; what an import had sent may have been moved into place");
	fail_hint(&f, "Look what is there, and try again.");
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
	s->engine->ops->explain(s->engine, s->wire.reader.buf.data, s->wire.reader.buf.len, &f);
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
	if (!s->lost)
		s->task = s->engine->ops->remove(s->engine, s->container, on_removed, s);
	runs_cut(s, cause->kind == FAIL_DIED ? ENDING_CONTAINER_DIED : ENDING_SESSION_LOST, s->death.message,
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

void session_lose(struct session *s)
{
	AUTO(fail_release) struct fail f = { 0 };
	if (s->state == SESSION_DEAD || s->state == SESSION_STOPPING)
		return;
	s->lost = true;
	fail_set(&f, FAIL_BUSY, "another server has taken the session over");
	session_die(s, &f);
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
		engine_death(&f, oom, event->exit_code);
		reason = xstrdup(s->ending ? s->ending : f.message);
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
	AUTO(fail_release) struct fail unwatched = { 0 };
	log_debug("session %s: stream closed: %s", s->id, f->message);
	stream_drop(s);
	if (s->state == SESSION_DEAD || s->state == SESSION_STOPPING)
		return;
	fail_copy(&s->trouble, f);
	s->engine_away |= cause_of(f) == CAUSE_NO_ENGINE;
	if (f->kind == FAIL_DIED && s->state == SESSION_ADOPTING) {
		fail_set(&unwatched, FAIL_DIED, SESSION_UNWATCHED);
		session_die(s, &unwatched);
		return;
	}
	if (f->kind == FAIL_DIED && !starting) {
		wait_for_cause(s);
		return;
	}
	/* An engine that restarts takes its time; PID 1 keeps everything for the lease. */
	bool in_lease = !starting && loop_now_ms() - s->heard_ms < s->lease_ms;
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
	session_send(s, &hello);
	s->last_frame_ms = loop_now_ms();
}

static void on_heartbeat(void *ctx)
{
	struct session *s = ctx;
	if (!s->stream)
		return;
	uint64_t silent = loop_now_ms() - s->last_frame_ms;
	if (silent > s->lease_ms / 4 + STUCK_MS) {
		AUTO(fail_release) struct fail f = { 0 };
		fail_set(&f, FAIL_ENGINE, "the container has not answered for %llu s",
			 (unsigned long long)silent / 1000);
		on_closed(s, &f);
		return;
	}
	session_send_frame(s, FRAME_PING, 0);
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
		timer_start(s->heartbeat, s->lease_ms / 4, s->lease_ms / 4);
}

static void on_start_deadline(void *ctx)
{
	struct session *s = ctx;
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_TIMEOUT, "the %s kernel did not start in %d s", s->runtime->name, START_DEADLINE_MS / 1000);
	fail_hint(&f, "the machine may be overloaded: stop sessions that are no longer needed and try again");
	session_die(s, &f);
}

static struct session *prepare(const struct session_params *p, enum session_state state)
{
	struct session *s = new0(struct session);
	s->runtime = p->runtime;
	s->loop = p->loop;
	s->engine = p->engine;
	s->config = p->config;
	s->owner = p->owner;
	s->image = xstrdup(p->image);
	s->thread = p->thread;
	s->network = p->network;
	s->state = state;
	s->lease_ms = p->config->lease * 1000;
	s->created_ms = s->used_ms = s->heard_ms = loop_now_ms();
	list_init(&s->node);
	list_init(&s->runs);
	list_init(&s->transfers);
	earlier_init(&s->earlier, p->config);
	s->heartbeat = timer_new(s->loop, on_heartbeat, s);
	s->retry = timer_new(s->loop, on_retry, s);
	return s;
}

struct session *session_new(const struct session_params *p)
{
	struct session *s = prepare(p, SESSION_STARTING);
	char name[TOKEN_SIZE];
	token_make(s->id);
	token_make(name);
	s->container = xasprintf("husk-%s", name);
	s->fence = 1;
	return s;
}

void session_start(struct session *s, const char *owner_id, const char *store_id)
{
	const struct config *c = s->config;
	AUTO(strv_release) struct strv sources = { 0 };
	if (s->network)
		deps_sources(&sources, s->runtime, c, /* with_logins= */ false);
	struct container_spec spec = {
		.name = s->container,
		.image = s->image,
		.store = store_id,
		.owner = owner_id,
		.memory = c->memory_limit,
		.cpu_quota = c->cpu_quota,
		.pids = c->pids_limit,
		.tmpfs = c->tmpfs_size,
		.lease = c->lease,
		.lifetime = c->max_lifetime,
		.network = s->network,
		.keep_proxies = c->proxy_enabled,
		.ca_bundle = c->ca_bundle,
		.env = &sources,
	};
	s->created_ms = s->used_ms = loop_now_ms();
	s->deadline = timer_new(s->loop, on_start_deadline, s);
	timer_start(s->deadline, START_DEADLINE_MS, 0);
	s->task = s->engine->ops->create(s->engine, &spec, on_created, s);
}

struct session *session_adopt(const struct session_params *p, const struct session_past *past)
{
	struct session *s = prepare(p, SESSION_ADOPTING);
	snprintf(s->id, sizeof(s->id), "%s", past->id);
	s->container = xstrdup(past->container);
	s->fence = past->fence;
	s->created_ms -= past->age_ms;
	timer_start(s->heartbeat, s->lease_ms / 4, s->lease_ms / 4);
	/* From the loop: nobody expects on_dead from inside this call. */
	timer_start(s->retry, 0, 0);
	return s;
}

void session_stop(struct session *s)
{
	if (s->state == SESSION_STOPPING)
		return;
	bool dead = s->state == SESSION_DEAD;
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_DIED, "stop_session ended the session while files were copied");
	fail_hint(&f, "The session is gone with its files; create_session makes a new one.");
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
	runs_cut(s, ENDING_INTERRUPTED, "stop_session ended the session while this ran",
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
	earlier_release(&s->earlier);
	free(s->ending);
	free(s->container);
	free(s->image);
	free(s);
	return NULL;
}
