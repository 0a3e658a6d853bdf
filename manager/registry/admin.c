#include "manager/registry/admin.h"

#include "base/alloc.h"
#include "manager/engine/open.h"
#include "manager/registry/gc.h"
#include "manager/registry/owner.h"
#include "manager/store/store.h"

/* The cause that the next call on a session hears which a person has stopped. */
#define STOPPED_BY_HAND "stopped with `husk stop`"

struct admin {
	struct loop *loop;
	const struct config *config;
	struct engine *engine;
	struct store *store;
	struct engine_query *query;
	struct engine_task *task;
	struct store_job *job;
	struct gc *gc;
	struct admin_session *v;
	size_t n;
	size_t at, stopped;
	struct fail unsure, failure;
	admin_list_fn on_list;
	admin_stop_fn on_stop;
	admin_gc_fn on_gc;
	void *ctx;
	char *wanted; /* id to stop; NULL = all */
};

static void session_release(struct admin_session *s)
{
	free(s->id);
	free(s->runtime);
	free(s->thread);
	free(s->state);
	free(s->owner);
	free(s->container);
	free(s->owner_id);
}

static void sessions_release(struct admin *a)
{
	for (size_t i = 0; i < a->n; i++)
		session_release(&a->v[i]);
	free(take_ptr(a->v));
	a->n = 0;
}

struct admin *admin_new(struct loop *loop, const struct config *config)
{
	struct admin *a = new0(struct admin);
	a->loop = loop;
	a->config = config;
	AUTO(fail_release) struct fail f = { 0 };
	a->engine =
		engine_open(config->engine, &(struct engine_options){ .loop = loop, .program = config->docker }, &f);
	a->store = store_new(loop, config);
	return a;
}

struct admin *admin_free(struct admin *a)
{
	if (!a)
		return NULL;
	gc_free(a->gc);
	store_cancel(a->job);
	a->engine->ops->query_free(a->query);
	if (a->task)
		a->engine->ops->task_cancel(a->task);
	store_free(a->store);
	a->engine->ops->free(a->engine);
	sessions_release(a);
	fail_release(&a->unsure);
	fail_release(&a->failure);
	free(a->wanted);
	free(a);
	return NULL;
}

/* --- the list ---------------------------------------------------------------------------------------------------- */

static struct owner_claim claim_of(const struct session_record *row)
{
	return (struct owner_claim){
		.id = row->owner, .place = row->owner_host, .pid = row->owner_pid, .lease_until = row->lease_until
	};
}

static const char *shown_state(const struct session_record *row, bool owner_is_gone)
{
	if (owner_is_gone)
		return "left";
	return row->busy ? "busy" : row->state;
}

static void add_row(struct admin *a, const struct session_record *row, uint64_t now)
{
	struct owner_claim claim = claim_of(row);
	bool dead = owner_is_dead(a->config, &claim, now);
	/* What its server did not finish goes with it. */
	if (streq(row->state, "ended") || (dead && streq(row->state, "starting")))
		return;
	a->v = xrealloc(a->v, (a->n + 1) * sizeof(*a->v));
	a->v[a->n++] = (struct admin_session){
		.id = xstrdup(row->id),
		.runtime = xstrdup(row->runtime),
		.thread = xstrdup(row->thread),
		.state = xstrdup(shown_state(row, dead)),
		.owner = dead ? xstrdup("none") : owner_words(&claim),
		.age_seconds = (now - MIN(row->created, now)) / 1000,
		.idle_seconds = row->busy ? 0 : (now - MIN(row->used, now)) / 1000,
		.left_seconds = (row->ends - MIN(row->ends, now)) / 1000,
		.container = xstrdup(row->container ? row->container : ""),
		.owner_id = xstrdup(row->owner),
		.fence = row->fence,
	};
}

/* Rows whose server had no time to say that the session is over. */
static void drop_gone(struct admin *a, const struct engine_containers *found)
{
	size_t kept = 0;
	for (size_t i = 0; i < a->n; i++) {
		if (streq(a->v[i].state, "starting") || engine_containers_have(found, a->v[i].container))
			a->v[kept++] = a->v[i];
		else
			session_release(&a->v[i]);
	}
	a->n = kept;
}

static void listed(struct admin *a)
{
	a->on_list(a->ctx, a->v, a->n, NULL, a->unsure.kind ? &a->unsure : NULL);
}

static void on_stats(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct admin *a = ctx;
	a->query = a->engine->ops->query_free(a->query);
	for (size_t i = 0; !f && i < a->n; i++) {
		for (size_t k = 0; k < answer->stats.n; k++) {
			if (!streq(a->v[i].container, answer->stats.v[k].name))
				continue;
			a->v[i].has_memory = true;
			a->v[i].memory = answer->stats.v[k].memory;
		}
	}
	listed(a);
}

static void stop_next(struct admin *a);

static void on_containers(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct admin *a = ctx;
	struct query_spec stats = { .question = ASK_STATS, .done = on_stats, .ctx = a };
	a->query = a->engine->ops->query_free(a->query);
	if (f)
		fail_copy(&a->unsure, f);
	else
		drop_gone(a, &answer->containers);
	if (!f && a->n)
		a->query = a->engine->ops->query(a->engine, &stats, &a->unsure);
	if (!a->query)
		listed(a);
}

static void on_rows(void *ctx, const struct session_list *list, const struct fail *f)
{
	struct admin *a = ctx;
	struct query_spec containers = {
		.question = ASK_CONTAINERS, .subject = store_id(a->store), .done = on_containers, .ctx = a
	};
	uint64_t now = store_now_ms();
	a->job = NULL;
	if (f) {
		a->on_list(a->ctx, NULL, 0, f, NULL);
		return;
	}
	for (size_t i = list->n; i > 0; i--)
		add_row(a, &list->v[i - 1], now);
	if (a->n)
		a->query = a->engine->ops->query(a->engine, &containers, &a->unsure);
	if (!a->query)
		listed(a);
}

void admin_list(struct admin *a, admin_list_fn fn, void *ctx)
{
	sessions_release(a);
	fail_release(&a->unsure);
	a->on_list = fn;
	a->ctx = ctx;
	a->job = store_sessions(a->store, /* thread= */ NULL, /* all= */ true, on_rows, a);
}

/* --- stop -------------------------------------------------------------------------------------------------------- */

static void on_removed(void *ctx, const struct fail *f)
{
	struct admin *a = ctx;
	a->task = NULL;
	if (f && !a->failure.kind)
		fail_copy(&a->failure, f);
	a->stopped += !f;
	a->at++;
	stop_next(a);
}

static void on_marked(void *ctx, const struct fail *f)
{
	struct admin *a = ctx;
	a->job = NULL;
	/* Somebody else's by now, or a store that is away: the container goes all the same. */
	a->task = a->engine->ops->remove(a->engine, a->v[a->at].container, on_removed, a);
}

static void stop_next(struct admin *a)
{
	while (a->at < a->n && a->wanted && !streq(a->v[a->at].id, a->wanted))
		a->at++;
	if (a->at == a->n) {
		if (a->wanted && !a->stopped && !a->failure.kind) {
			fail_set(&a->failure, FAIL_NOT_FOUND, "Session '%.64s' not found", a->wanted);
			fail_hint(&a->failure, "husk ps lists the sessions that there are");
		}
		a->on_stop(a->ctx, a->stopped, a->failure.kind ? &a->failure : NULL);
		return;
	}
	const struct admin_session *s = &a->v[a->at];
	uint64_t now = store_now_ms();
	a->job = store_session_update(a->store,
				      &(struct session_update){ .id = s->id,
								.owner = s->owner_id,
								.fence = s->fence,
								.state = "ended",
								.cause = STOPPED_BY_HAND,
								.lease_until = now,
								.used = now },
				      on_marked, a);
}

static void on_stop_rows(void *ctx, const struct session_list *list, const struct fail *f)
{
	struct admin *a = ctx;
	uint64_t now = store_now_ms();
	a->job = NULL;
	if (f) {
		a->on_stop(a->ctx, 0, f);
		return;
	}
	for (size_t i = list->n; i > 0; i--)
		add_row(a, &list->v[i - 1], now);
	stop_next(a);
}

void admin_stop(struct admin *a, const char *id, admin_stop_fn fn, void *ctx)
{
	sessions_release(a);
	a->on_stop = fn;
	a->ctx = ctx;
	free(a->wanted);
	a->wanted = id ? xstrdup(id) : NULL;
	a->at = a->stopped = 0;
	a->job = store_sessions(a->store, /* thread= */ NULL, /* all= */ true, on_stop_rows, a);
}

/* --- gc ---------------------------------------------------------------------------------------------------------- */

static void on_collected(void *ctx, const struct gc_report *report, const struct fail *f)
{
	struct admin *a = ctx;
	a->on_gc(a->ctx, report->containers.v, report->containers.n, report->sessions, f);
}

void admin_gc(struct admin *a, admin_gc_fn fn, void *ctx)
{
	a->on_gc = fn;
	a->ctx = ctx;
	a->gc = gc_start(&(struct gc_spec){ .loop = a->loop,
					    .config = a->config,
					    .engine = a->engine,
					    .store = a->store,
					    .self = "",
					    .on_done = on_collected,
					    .ctx = a });
}
