#include "manager/registry/warm.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/proc.h"
#include "manager/model/cause.h"
#include "manager/model/token.h"
#include "manager/registry/claims.h"

/* After this time without an operation, the machine is likely to be idle. */
#define QUIET_MS 500
/* A container that is missing for this long is started even if the machine is not idle. */
#define PATIENCE_MS 10000
/* How often the pool is checked. */
#define CHECK_MS 5000
/* Pause after a failure; doubled each time. */
#define PAUSE_MS 5000
#define PAUSE_MAX_MS 600000
/* Pause if no slot was free. */
#define LIMIT_PAUSE_MS 30000
/* More than one warm container of a runtime is kept only for this long after the last create. */
#define RUSH_MS 300000
/* Memory is short when less than a tenth is available, or less than this on small machines. */
#define MEMORY_LEFT_MIN (512ull << 20)

/* The warm containers of one runtime. */
struct shelf {
	const struct warm_size *size;
	uint64_t target;
	uint64_t used_ms; /* time of the last create; 0 = never */
};

#define NAMES_TRIED 32

struct warm {
	struct registry *registry;
	struct timer *timer;
	struct shelf shelves[WARM_POOL_RUNTIMES];
	size_t n;
	struct session_entry *filling; /* the container that is being started; NULL = none */
	int names;		       /* names tried for it whose user id another session has */
	struct store_job *job;	       /* writes its row */
	uint64_t short_ms;	       /* since when a container is missing; 0 = none is missing */
	uint64_t not_before_ms, pause_ms;
	bool awake, leaving;
};

/* --- lookups ----------------------------------------------------------------------------------------------------- */

/* The kind of session that a create without arguments makes. */
static struct session_entry_spec usual(const struct warm *w, const struct runtime *runtime)
{
	return (struct session_entry_spec){ .runtime = runtime,
					    .conversation = "",
					    .network = w->registry->config->network_enabled &&
						       !w->registry->config->network_allow,
					    .limits = limits_default(w->registry->config) };
}

static bool is_free(const struct session_entry *entry)
{
	enum session_state state = session_state(entry->session);
	return *entry->warm && !entry->reserved && (state == SESSION_STARTING || state == SESSION_WARM);
}

static struct session_entry *any_of(const struct warm *w, const struct runtime *runtime)
{
	list_for_each(entry, &w->registry->entries, struct session_entry, node)
		if (is_free(entry) && session_runtime(entry->session) == runtime)
			return entry;
	return NULL;
}

static size_t count_of(const struct warm *w, const struct runtime *runtime)
{
	size_t n = 0;
	list_for_each(entry, &w->registry->entries, struct session_entry, node)
		n += is_free(entry) && session_runtime(entry->session) == runtime;
	return n;
}

/* True if less than 1/share of the machine's memory is available. */
static bool memory_below(const struct warm *w, uint64_t share)
{
	struct proc_memory memory;
	return proc_memory(w->registry->config->meminfo, &memory) == 0 &&
	       memory.available < MAX(memory.total / share, MEMORY_LEFT_MIN);
}

static bool memory_is_short(const struct warm *w)
{
	return memory_below(w, 10);
}

/* --- dropping ---------------------------------------------------------------------------------------------------- */

static void drop(struct warm *w, struct session_entry *entry)
{
	claim_drop(w->registry, entry->warm);
	if (entry != w->filling) {
		session_stop(entry->session);
		return;
	}
	w->filling = NULL;
	/* While its row is being written, the container has not been started. */
	if (w->job) {
		store_cancel(take_ptr(w->job));
		session_entry_free(entry);
	} else {
		session_stop(entry->session);
	}
}

static void drop_beyond(struct warm *w, const struct runtime *runtime, size_t keep)
{
	for (size_t n = count_of(w, runtime); n > keep; n--)
		drop(w, any_of(w, runtime));
}

/* A shelf that was not used for a while is filled only to its minimum. */
static void age(struct warm *w, struct shelf *s)
{
	uint64_t now = loop_now_ms(), unused = now - s->used_ms;
	if (!s->used_ms || unused >= w->registry->config->idle_ttl * 1000)
		s->target = w->awake ? s->size->min : 0;
	else if (unused >= RUSH_MS)
		s->target = MAX(s->size->min, MIN(s->size->max, 1));
}

static void on_change(struct session_entry *entry);

/* --- filling ----------------------------------------------------------------------------------------------------- */

static void pause_filling(struct warm *w)
{
	w->pause_ms = w->pause_ms ? MIN(2 * w->pause_ms, PAUSE_MAX_MS) : PAUSE_MS;
	w->not_before_ms = loop_now_ms() + w->pause_ms;
}

static void fill(struct warm *w, const struct runtime *runtime);

static void on_row(void *ctx, const struct session_list *list UNUSED, const struct fail *f)
{
	struct warm *w = ctx;
	const struct runtime *runtime = session_runtime(w->filling->session);
	w->job = NULL;
	if (!f) {
		w->names = 0;
		session_entry_start_warm(w->filling);
		return;
	}
	log_debug("no warm container: %s", f->message);
	session_entry_free(take_ptr(w->filling));
	if (cause_of(f) == CAUSE_USER_TAKEN && w->names++ < NAMES_TRIED)
		fill(w, runtime);
	else if (f->kind == FAIL_LIMIT)
		w->not_before_ms = loop_now_ms() + LIMIT_PAUSE_MS;
	else
		pause_filling(w);
}

static void fill(struct warm *w, const struct runtime *runtime)
{
	struct registry *r = w->registry;
	struct session_entry_spec spec = usual(w, runtime);
	if (spec.network)
		fence_prepare(r->fence);
	w->filling = session_entry_new(r, &spec);
	token_make(w->filling->warm);
	w->filling->on_warm = on_change;
	w->job = claim_warm(w->filling, on_row, w);
}

static bool is_quiet(const struct warm *w)
{
	const struct registry *r = w->registry;
	return list_empty(&r->ops) && loop_now_ms() - r->active_ms >= QUIET_MS;
}

static const struct shelf *find_short(const struct warm *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (count_of(w, w->shelves[i].size->runtime) < w->shelves[i].target)
			return &w->shelves[i];
	return NULL;
}

/* Starts a container if one is missing and this is a good time. Returns the milliseconds until the next check. */
static uint64_t consider(struct warm *w)
{
	const struct shelf *s = w->filling ? NULL : find_short(w);
	uint64_t now = loop_now_ms();
	if (!s) {
		w->short_ms = 0;
		return CHECK_MS;
	}
	if (now < w->not_before_ms || memory_is_short(w))
		return CHECK_MS;
	if (!w->short_ms)
		w->short_ms = now;
	if (!is_quiet(w) && now - w->short_ms < PATIENCE_MS)
		return QUIET_MS;
	w->short_ms = 0;
	fill(w, s->size->runtime);
	return CHECK_MS;
}

static void on_time(void *ctx)
{
	struct warm *w = ctx;
	bool is_short = memory_is_short(w), any = false;
	for (size_t i = 0; i < w->n; i++) {
		struct shelf *s = &w->shelves[i];
		age(w, s);
		drop_beyond(w, s->size->runtime, is_short ? 0 : s->target);
		any |= s->target > 0;
	}
	uint64_t next = consider(w);
	if (any)
		timer_start(w->timer, next, 0);
}

static void check_soon(struct warm *w)
{
	if (!w->leaving && !w->registry->leaves_nothing && w->n)
		timer_start(w->timer, QUIET_MS, 0);
}

/* --- events ------------------------------------------------------------------------------------------------------ */

static void came_up(struct warm *w, struct session_entry *entry)
{
	if (w->filling == entry)
		w->filling = NULL;
	w->pause_ms = 0;
	/* Records in the store how the container is reached, for lists of sessions. */
	claim_renew(entry);
	check_soon(w);
}

/* Filling pauses, since the cause may end the next container too: for example, a person may be removing them. */
static void died(struct warm *w, struct session_entry *entry)
{
	log_debug("a warm container is gone: %s", session_death(entry->session)->message);
	if (w->filling == entry)
		w->filling = NULL;
	if (entry->reserved)
		return; /* the create that takes it handles its death */
	claim_drop(entry->registry, entry->warm);
	for (size_t i = 0; i < w->n; i++)
		if (w->shelves[i].size->runtime == session_runtime(entry->session))
			w->shelves[i].used_ms = 0;
	pause_filling(w);
	check_soon(w);
}

static void on_change(struct session_entry *entry)
{
	if (session_state(entry->session) == SESSION_WARM)
		came_up(entry->registry->warm, entry);
	else
		died(entry->registry->warm, entry);
}

bool warm_is_eager(const struct warm *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->shelves[i].size->min)
			return true;
	return false;
}

void warm_wake(struct warm *w)
{
	w->awake = true;
	check_soon(w);
}

struct session_entry *warm_take(struct warm *w, const struct session_entry_spec *spec)
{
	list_for_each(entry, &w->registry->entries, struct session_entry, node) {
		if (!is_free(entry) || session_state(entry->session) != SESSION_WARM ||
		    !session_is_connected(entry->session) || !session_entry_fits(entry, spec))
			continue;
		entry->reserved = true;
		return entry;
	}
	return NULL;
}

void warm_give_back(struct session_entry *entry)
{
	entry->reserved = false;
	if (session_state(entry->session) == SESSION_DEAD)
		died(entry->registry->warm, entry);
}

void warm_used(struct warm *w, const struct session_entry_spec *spec, bool was_warm)
{
	w->awake = true;
	/* This session started, so the reason for the pause is gone. */
	w->pause_ms = w->not_before_ms = 0;
	for (size_t i = 0; i < w->n; i++) {
		struct shelf *s = &w->shelves[i];
		if (s->size->runtime != spec->runtime)
			continue;
		uint64_t more = s->used_ms && !was_warm ? s->target + 1 : s->target;
		s->used_ms = loop_now_ms();
		/* Creates often come in bursts. If memory is plentiful, the whole shelf is filled for the next one. */
		s->target = memory_below(w, 4) ? MIN(s->size->max, MAX(more, 1)) : s->size->max;
	}
	check_soon(w);
}

void warm_evict(struct warm *w, const struct session_list *rows)
{
	struct registry *r = w->registry;
	for (size_t i = 0; i < rows->n; i++) {
		struct session_entry *ours = NULL;
		list_for_each(entry, &r->entries, struct session_entry, node)
			if (streq(entry->warm, rows->v[i].id))
				ours = entry;
		/* The engine reports the removal to another server. The store reports it to a create that has
		 * reserved the container. */
		if (ours && !ours->reserved)
			drop(w, ours);
		else if (!ours && rows->v[i].container)
			(void)r->engine->ops->remove(r->engine,
						     &(struct container_ref){ .name = rows->v[i].container,
									      .store = store_id(r->store),
									      .mark = rows->v[i].mark },
						     /* done= */ NULL, /* ctx= */ NULL);
	}
	if (rows->n)
		pause_filling(w);
}

void warm_leave(struct warm *w)
{
	w->leaving = true;
	timer_stop(w->timer);
	list_for_each(entry, &w->registry->entries, struct session_entry, node)
		if (*entry->warm)
			claim_drop(w->registry, entry->warm);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct warm *warm_new(struct registry *r)
{
	struct warm *w = new0(struct warm);
	w->registry = r;
	w->timer = timer_new(r->loop, on_time, w);
	/* A create chooses its host first, and none is chosen before it is needed. */
	bool none = engine_capabilities(r->engine).several_hosts;
	for (size_t i = 0; !none && i < r->config->warm_pool.n; i++)
		if (r->config->warm_pool.v[i].max)
			w->shelves[w->n++].size = &r->config->warm_pool.v[i];
	return w;
}

struct warm *warm_free(struct warm *w)
{
	if (!w)
		return NULL;
	store_cancel(w->job);
	timer_free(w->timer);
	free(w);
	return NULL;
}
