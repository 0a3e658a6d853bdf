#include "manager/registry/gc.h"
#include "manager/model/pool.h"

#include <time.h>

#include "base/alloc.h"
#include "base/log.h"
#include "manager/files/exports.h"
#include "manager/line/folder.h"
#include "manager/registry/claims.h"
#include "manager/registry/owner.h"
#include "manager/registry/rows.h"

/* Number of strings in the list for each warm container. */
#define WARM_FIELDS 4

struct gc {
	struct gc_spec spec;
	struct engine_query *query;
	struct rows_load *load;
	struct store_job *job;
	struct engine_task *task;
	struct strv away;	    /* hosts that did not answer */
	struct strv present, ended; /* names of all containers, and of those that have ended */
	size_t at;		    /* index in ended */
	struct strv warm; /* warm containers of dead servers: id, owner, container and mark ("" = none) of each */
	size_t warm_at;
	uint64_t export_ms; /* exports older than this are still to be deleted */
	char *export_id;
	struct gc_report report;
	struct fail failure; /* the first failure */
};

static void remove_next(struct gc *g);
static void remove_warm(struct gc *g);
static void prune_log(struct gc *g);
static void delete_exports(struct gc *g);

static void note_failure(struct gc *g, const struct fail *f)
{
	if (f && !g->failure.kind)
		fail_copy(&g->failure, f);
}

static void finish(struct gc *g)
{
	g->spec.on_done(g->spec.ctx, &g->report, g->failure.kind ? &g->failure : NULL);
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static bool is_present(const struct gc *g, const char *container)
{
	for (size_t i = 0; i < g->present.n; i++)
		if (streq(g->present.v[i], container))
			return true;
	/* A host that does not answer may still have it. */
	const char *host = pool_host_of(container);
	return host && strv_find(&g->away, host) != SIZE_MAX;
}

/* True for a session that has ended although its row does not say so. A live server records the end of its own
 * sessions. */
static bool is_over(const struct gc *g, const struct session_record *row, bool owner_dead)
{
	if (row->state == ROW_ENDED || row->state == ROW_WARM || !owner_dead || streq(row->owner, g->spec.self) ||
	    row->seal == SEAL_BROKEN || !rows_on_engine(row, g->spec.engine))
		return false;
	return row->state == ROW_STARTING || !row->container || !is_present(g, row->container);
}

static void note_warm(struct gc *g, const struct session_record *row, bool owner_dead)
{
	if (row->state == ROW_WARM && owner_dead && !streq(row->owner, g->spec.self) &&
	    rows_on_engine(row, g->spec.engine))
		strv_add_all(&g->warm, row->id, row->owner, row->container ? row->container : "",
			     row->mark ? row->mark : "", NULL);
}

static void on_rows(void *ctx, const struct rows *rows, const struct fail *f)
{
	struct gc *g = ctx;
	g->load = NULL;
	if (f) {
		note_failure(g, f);
		remove_next(g);
		return;
	}
	for (size_t i = 0; i < rows->n; i++)
		note_warm(g, &rows->v[i], rows->owner_dead[i]);
	for (size_t i = 0; i < rows->n; i++) {
		if (!is_over(g, &rows->v[i], rows->owner_dead[i]))
			continue;
		claim_end_row(g->spec.store, &rows->v[i], SESSION_UNWATCHED);
		g->report.sessions++;
	}
	remove_warm(g);
}

/* --- warm containers ---------------------------------------------------------------------------------------------- */

static void on_warm_removed(void *ctx, const struct fail *f)
{
	struct gc *g = ctx;
	g->task = NULL;
	note_failure(g, f);
	if (!f)
		strv_add(&g->report.containers, g->warm.v[g->warm_at + 2]);
	g->warm_at += WARM_FIELDS;
	remove_warm(g);
}

/* A warm container may be removed only after its row was removed: its server may be alive after all, and about to give
 * the container to a session. */
static void on_warm_dropped(void *ctx, const struct fail *f)
{
	struct gc *g = ctx;
	const char *container = g->warm.v[g->warm_at + 2], *mark = g->warm.v[g->warm_at + 3];
	g->job = NULL;
	if (!f && is_present(g, container)) {
		struct container_ref ref = { .name = container,
					     .store = store_id(g->spec.store),
					     .mark = *mark ? mark : NULL };
		g->task = g->spec.engine->ops->remove(g->spec.engine, &ref, on_warm_removed, g);
		return;
	}
	note_failure(g, f && f->kind != FAIL_NOT_FOUND ? f : NULL);
	g->warm_at += WARM_FIELDS;
	remove_warm(g);
}

static void remove_warm(struct gc *g)
{
	if (g->warm_at < g->warm.n)
		g->job = store_session_drop(g->spec.store, g->warm.v[g->warm_at], g->warm.v[g->warm_at + 1],
					    on_warm_dropped, g);
	else
		remove_next(g);
}

/* --- the log ----------------------------------------------------------------------------------------------------- */

static void on_log_pruned(void *ctx, uint64_t n, const struct fail *f)
{
	struct gc *g = ctx;
	g->job = NULL;
	note_failure(g, f);
	if (n)
		prune_log(g);
	else
		delete_exports(g);
}

static void prune_log(struct gc *g)
{
	uint64_t age = g->spec.config->history_max_age_days * 86400000ull, now = store_now_ms();
	if (age && age < now)
		g->job = store_prune(g->spec.store, now - age, on_log_pruned, g);
	else
		delete_exports(g);
}

/* --- exports ----------------------------------------------------------------------------------------------------- */

static void on_export_deleted(void *ctx, const struct fail *f)
{
	struct gc *g = ctx;
	g->job = NULL;
	note_failure(g, f);
	g->report.exports += !f;
	delete_exports(g);
}

/* Exports are deleted one at a time, each in its own transaction. If one cannot be deleted, the others still are. */
static void on_old_export(void *ctx, const struct export_list *list, const struct fail *f)
{
	struct gc *g = ctx;
	g->job = NULL;
	note_failure(g, f);
	if (!list || !list->n) {
		finish(g);
		return;
	}
	AUTO(freep) char *content = export_file(g->spec.config, &list->v[0]);
	g->export_ms = list->v[0].created;
	free(g->export_id);
	g->export_id = xstrdup(list->v[0].id);
	g->job = store_export_delete(g->spec.store, &list->v[0], content, on_export_deleted, g);
}

static void delete_exports(struct gc *g)
{
	uint64_t age = g->spec.config->exports_max_age_days * 86400000ull, now = store_now_ms();
	if (!age || age >= now) {
		finish(g);
		return;
	}
	if (!g->export_id) {
		g->export_ms = now - age;
		g->export_id = xstrdup("");
	}
	g->job = store_exports(g->spec.store, /* thread= */ NULL, g->export_ms, g->export_id, /* limit= */ 1,
			       on_old_export, g);
}

/* --- containers and networks ------------------------------------------------------------------------------------- */

static void on_pruned(void *ctx, const struct fail *f)
{
	struct gc *g = ctx;
	g->task = NULL;
	note_failure(g, f);
	prune_log(g);
}

static void on_removed(void *ctx, const struct fail *f)
{
	struct gc *g = ctx;
	g->task = NULL;
	note_failure(g, f);
	if (!f)
		strv_add(&g->report.containers, g->ended.v[g->at]);
	g->at++;
	remove_next(g);
}

static void remove_next(struct gc *g)
{
	const struct engine_ops *ops = g->spec.engine->ops;
	if (g->at < g->ended.n)
		g->task = ops->remove_ended(g->spec.engine, g->ended.v[g->at], on_removed, g);
	else
		g->task = ops->prune(g->spec.engine, g->spec.config->orphan_min_age, on_pruned, g);
}

static void on_containers(void *ctx, const struct engine_answer *answer, const struct fail *f)
{
	struct gc *g = ctx;
	uint64_t now = (uint64_t)time(NULL);
	g->query = g->spec.engine->ops->query_free(g->query);
	if (f) {
		/* Without the engine's list it is unknown which containers are gone. */
		note_failure(g, f);
		finish(g);
		return;
	}
	for (size_t i = 0; i < answer->containers.n; i++) {
		const struct engine_container *c = &answer->containers.v[i];
		strv_add(&g->present, c->name);
		if (!c->running && c->created <= now && now - c->created >= g->spec.config->orphan_min_age)
			strv_add(&g->ended, c->name);
	}
	for (size_t i = 0; i < answer->containers.away.n; i++)
		strv_add(&g->away, answer->containers.away.v[i]);
	folders_sweep(g->spec.loop, g->spec.config, &g->present);
	g->load = rows_load(&(struct rows_spec){
		.loop = g->spec.loop, .config = g->spec.config, .store = g->spec.store, .fn = on_rows, .ctx = g });
}

/* Containers are listed by the id of their store, so the round ends if the id is unknown. */
static void on_identified(void *ctx, const struct fail *f)
{
	struct gc *g = ctx;
	g->job = NULL;
	note_failure(g, f);
	struct query_spec query = {
		.kind = ENGINE_QUERY_CONTAINERS, .subject = store_id(g->spec.store), .done = on_containers, .ctx = g
	};
	if (!f)
		g->query = g->spec.engine->ops->query(g->spec.engine, &query, &g->failure);
	if (!g->query)
		finish(g);
}

/* --- life -------------------------------------------------------------------------------------------------------- */

struct gc *gc_start(const struct gc_spec *spec)
{
	struct gc *g = new0(struct gc);
	g->spec = *spec;
	owner_sweep_soon(spec->loop, spec->config);
	g->job = store_identify(spec->store, on_identified, g);
	return g;
}

struct gc *gc_free(struct gc *g)
{
	if (!g)
		return NULL;
	g->spec.engine->ops->query_free(g->query);
	rows_load_cancel(g->load);
	store_cancel(g->job);
	if (g->task)
		g->spec.engine->ops->task_cancel(g->task);
	strv_release(&g->away);
	strv_release(&g->present);
	strv_release(&g->ended);
	strv_release(&g->warm);
	strv_release(&g->report.containers);
	fail_release(&g->failure);
	free(g->export_id);
	free(g);
	return NULL;
}
