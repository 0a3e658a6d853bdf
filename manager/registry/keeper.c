/* What a server does for its sessions beside the calls: it listens to the engine, ends the idle, collects what is left over and
 * renews the leases. All of it stops with the last session: a server that has none costs nothing. */
#include "base/alloc.h"
#include "base/log.h"
#include "manager/registry/gc.h"
#include "manager/registry/manager-private.h"

/* Dead sessions stay known so that the next call hears the cause; the oldest are forgotten. */
#define DEAD_SESSIONS_MAX 64
#define WATCH_CHECK_MS 1000
static void on_watch_closed(void *ctx);

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
	m->watch = m->engine->ops->watch(m->engine, store_id(m->store), &handler, &f);
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
	list_for_each(s, &m->sessions, struct session, node) {
		if (s->lost)
			manager_drop(m, s);
		else
			dead += s->state == SESSION_DEAD;
	}
	list_for_each(s, &m->sessions, struct session, node) {
		if (dead <= DEAD_SESSIONS_MAX)
			return;
		if (s->state == SESSION_DEAD && !s->task) {
			manager_drop(m, s);
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

/* --- time --------------------------------------------------------------------------------------------------- */

/* Ends what nobody has used for SESSION_IDLE_TTL_SECONDS. A session with a run on it is in use. */
static void end_idle(struct manager *m)
{
	uint64_t now = loop_now_ms(), ttl = m->config->idle_ttl;
	list_for_each(s, &m->sessions, struct session, node) {
		if (s->state != SESSION_READY || session_is_busy(s) || now - s->used_ms < ttl * 1000)
			continue;
		AUTO(fail_release) struct fail f = { 0 };
		fail_set(&f, FAIL_DIED, "ended after %llu s without use (SESSION_IDLE_TTL_SECONDS)",
			 (unsigned long long)ttl);
		session_end(s, &f);
	}
}

static void on_gc_done(void *ctx, const struct gc_report *report, const struct fail *f)
{
	struct manager *m = ctx;
	m->gc = gc_free(m->gc);
	if (f)
		log_debug("gc: %s", f->message);
	manager_swept(m);
}

void keeper_collect(struct manager *m)
{
	if (!m->gc)
		m->gc = gc_start(&(struct gc_spec){ .loop = m->loop,
						    .config = m->config,
						    .engine = m->engine,
						    .store = m->store,
						    .self = m->self.id,
						    .on_done = on_gc_done,
						    .ctx = m });
}

static void on_gc(void *ctx)
{
	struct manager *m = ctx;
	end_idle(m);
	if (live_sessions(m))
		keeper_collect(m);
	else
		timer_stop(m->gc_timer);
}

static void on_renew(void *ctx)
{
	struct manager *m = ctx;
	list_for_each(s, &m->sessions, struct session, node)
		ledger_renew(m, s);
	if (!live_sessions(m))
		timer_stop(m->renew_timer);
}

void keeper_start(struct manager *m)
{
	uint64_t gc = m->config->gc_interval * 1000, renew = m->config->lease * 1000 / 4;
	watch_start(m);
	if (!timer_active(m->gc_timer))
		timer_start(m->gc_timer, gc, gc);
	if (!timer_active(m->renew_timer))
		timer_start(m->renew_timer, renew, renew);
}

void keeper_check_soon(struct manager *m)
{
	timer_start(m->watch_check, WATCH_CHECK_MS, 0);
}

void keeper_init(struct manager *m)
{
	m->watch_check = timer_new(m->loop, on_watch_check, m);
	m->gc_timer = timer_new(m->loop, on_gc, m);
	m->renew_timer = timer_new(m->loop, on_renew, m);
}

bool keeper_leave(struct manager *m)
{
	AUTO(strv_release) struct strv names = { 0 };
	bool any = false;
	list_for_each(s, &m->sessions, struct session, node) {
		bool usable = (s->state == SESSION_READY || s->state == SESSION_ADOPTING) && !m->leaves_nothing;
		if (!usable && s->state != SESSION_DEAD)
			strv_add(&names, s->container);
		any |= usable;
	}
	m->engine->ops->remove_and_forget(m->engine, names.v, names.n);
	return any;
}

void keeper_release(struct manager *m)
{
	gc_free(m->gc);
	m->engine->ops->watch_free(m->watch);
	timer_free(m->watch_check);
	timer_free(m->gc_timer);
	timer_free(m->renew_timer);
}
