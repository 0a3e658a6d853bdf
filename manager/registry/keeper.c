#include "manager/registry/keeper.h"

#include "base/alloc.h"
#include "base/log.h"
#include "manager/model/cause.h"
#include "manager/registry/claims.h"
#include "manager/registry/gc.h"
#include "manager/registry/task.h"

/* Dead sessions stay known so that the next request gets the cause. The oldest are forgotten. */
#define DEAD_SESSIONS_MAX 64
#define CHECK_MS 1000

struct keeper {
	struct registry *registry;
	struct engine_watch *watch;
	struct timer *check;
	struct timer *gc_timer, *renew_timer; /* run while there are sessions */
	struct gc *gc;			      /* the current round of gc; NULL = none */
};

static void on_watch_closed(void *ctx);

/* --- the engine's events ----------------------------------------------------------------------------------------- */

static void on_engine_event(void *ctx, const struct engine_event *event)
{
	struct keeper *k = ctx;
	list_for_each(entry, &k->registry->entries, struct session_entry, node) {
		if (streq(session_container(entry->session), event->container)) {
			session_on_event(entry->session, event);
			return;
		}
	}
}

static void watch_start(struct keeper *k)
{
	struct registry *r = k->registry;
	struct watch_handler handler = { .on_event = on_engine_event, .on_closed = on_watch_closed, .ctx = k };
	AUTO(fail_release) struct fail f = { 0 };
	if (k->watch || !store_id(r->store) || !engine_capabilities(r->engine).feeds_events)
		return;
	k->watch = r->engine->ops->watch(r->engine, store_id(r->store), &handler, &f);
	if (k->watch)
		return;
	log_debug("no engine events: %s", f.message);
	keeper_check_soon(k);
}

static void forget(struct session_entry *entry)
{
	tasks_leave(entry);
	session_entry_free(entry);
}

static void forget_old_dead(struct registry *r)
{
	size_t dead = 0;
	list_for_each(entry, &r->entries, struct session_entry, node) {
		bool dead_warm = *entry->warm && !entry->reserved && session_state(entry->session) == SESSION_DEAD;
		if (session_is_lost(entry->session) || (dead_warm && !session_is_changing(entry->session)))
			forget(entry);
		else
			dead += session_state(entry->session) == SESSION_DEAD;
	}
	list_for_each(entry, &r->entries, struct session_entry, node) {
		if (dead <= DEAD_SESSIONS_MAX)
			return;
		if (session_state(entry->session) == SESSION_DEAD && !session_is_changing(entry->session)) {
			forget(entry);
			dead--;
		}
	}
}

/* The feed of engine events runs only while there are sessions: its process would outlive a server that is killed. */
static void on_check(void *ctx)
{
	struct keeper *k = ctx;
	forget_old_dead(k->registry);
	if (registry_live(k->registry))
		watch_start(k);
	else
		k->watch = k->registry->engine->ops->watch_free(k->watch);
}

static void on_watch_closed(void *ctx)
{
	struct keeper *k = ctx;
	k->watch = k->registry->engine->ops->watch_free(k->watch);
	list_for_each(entry, &k->registry->entries, struct session_entry, node)
		session_engine_away(entry->session);
	keeper_check_soon(k);
}

void keeper_check_soon(struct keeper *k)
{
	timer_start(k->check, CHECK_MS, 0);
}

/* --- time -------------------------------------------------------------------------------------------------------- */

/* Ends sessions that were not used for SESSION_IDLE_TTL_SECONDS. A session with an active run is in use. */
static void end_idle(struct registry *r)
{
	uint64_t ttl = r->config->idle_ttl;
	list_for_each(entry, &r->entries, struct session_entry, node) {
		struct session *s = entry->session;
		if (session_state(s) != SESSION_READY || session_is_busy(s) || session_idle_ms(s) < ttl * 1000)
			continue;
		AUTO(fail_release) struct fail f = { 0 };
		cause_set(&f, FAIL_DIED, CAUSE_IDLE, "ended after %llu s without use (SESSION_IDLE_TTL_SECONDS)",
			  (unsigned long long)ttl);
		session_end(s, &f);
	}
}

static void on_gc_done(void *ctx, const struct gc_report *report, const struct fail *f)
{
	struct keeper *k = ctx;
	k->gc = gc_free(k->gc);
	if (f)
		log_debug("gc: %s", f->message);
	ops_swept(k->registry);
}

void keeper_collect(struct keeper *k)
{
	struct registry *r = k->registry;
	if (!k->gc)
		k->gc = gc_start(&(struct gc_spec){ .loop = r->loop,
						    .config = r->config,
						    .engine = r->engine,
						    .store = r->store,
						    .self = r->self.id,
						    .on_done = on_gc_done,
						    .ctx = k });
}

/* An adopted session may have the network, so the firewall rules are checked for it. */
static bool has_adopted(const struct registry *r)
{
	list_for_each(entry, &r->entries, struct session_entry, node)
		if (entry->adopted && session_state(entry->session) != SESSION_DEAD)
			return true;
	return false;
}

static void on_gc(void *ctx)
{
	struct keeper *k = ctx;
	end_idle(k->registry);
	fence_tick(k->registry->fence, has_adopted(k->registry));
	if (registry_live(k->registry))
		keeper_collect(k);
	else
		timer_stop(k->gc_timer);
}

static void on_renew(void *ctx)
{
	struct keeper *k = ctx;
	list_for_each(entry, &k->registry->entries, struct session_entry, node)
		claim_renew(entry);
	if (!registry_live(k->registry))
		timer_stop(k->renew_timer);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

void keeper_start(struct keeper *k)
{
	const struct config *c = k->registry->config;
	uint64_t gc = c->gc_interval * 1000, renew = c->lease * 1000 / 4;
	watch_start(k);
	if (!timer_active(k->gc_timer))
		timer_start(k->gc_timer, gc, gc);
	if (!timer_active(k->renew_timer))
		timer_start(k->renew_timer, renew, renew);
}

struct keeper *keeper_new(struct registry *r)
{
	struct keeper *k = new0(struct keeper);
	k->registry = r;
	k->check = timer_new(r->loop, on_check, k);
	k->gc_timer = timer_new(r->loop, on_gc, k);
	k->renew_timer = timer_new(r->loop, on_renew, k);
	return k;
}

bool keeper_leave(struct keeper *k)
{
	struct registry *r = k->registry;
	AUTO(strv_release) struct strv names = { 0 };
	bool any = false;
	list_for_each(entry, &r->entries, struct session_entry, node) {
		enum session_state state = session_state(entry->session);
		bool usable = (state == SESSION_READY || state == SESSION_ADOPTING) && !r->leaves_nothing;
		const char *name = session_removable(entry->session);
		if (!usable && state != SESSION_DEAD && name)
			strv_add(&names, name);
		any |= usable;
	}
	r->engine->ops->remove_and_forget(r->engine, names.v, names.n);
	return any;
}

struct keeper *keeper_free(struct keeper *k)
{
	if (!k)
		return NULL;
	gc_free(k->gc);
	k->registry->engine->ops->watch_free(k->watch);
	timer_free(k->check);
	timer_free(k->gc_timer);
	timer_free(k->renew_timer);
	free(k);
	return NULL;
}
