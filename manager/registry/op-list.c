/* Lists the sessions of all conversations and servers, with the resources that they use. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/model/pool.h"
#include "manager/registry/registry.h"
#include "manager/registry/rows.h"

struct list_op {
	struct op op;
	struct list_request request;
	struct engine_query *query;
	struct listed_session *v;
	char **containers; /* for each session of v */
	bool *unlisted;	   /* for each session of v: its container is not created yet, gone, or on another engine */
	size_t n;
	struct strv strings; /* owns the strings of v and containers */
	struct fail unsure;
};

static struct list_op *list_op_of(struct op *op)
{
	return container_of(op, struct list_op, op);
}

static void list_op_free(struct op *op)
{
	struct list_op *o = list_op_of(op);
	op->registry->engine->ops->query_free(o->query);
	free(o->v);
	free(o->containers);
	free(o->unlisted);
	strv_release(&o->strings);
	fail_release(&o->unsure);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct list_op *o = list_op_of(op);
	o->request.on_done(o->request.ctx, NULL, 0, f, NULL);
}

static void answer(struct list_op *o)
{
	o->request.on_done(o->request.ctx, o->v, o->n, NULL, o->unsure.kind ? &o->unsure : NULL);
	op_end(&o->op);
}

static const char *keep(struct list_op *o, const char *text)
{
	strv_add(&o->strings, text ? text : "");
	return o->strings.v[o->strings.n - 1];
}

/* The text is cleaned, since anybody with write access to the database can change it. */
static const char *keep_shown(struct list_op *o, const char *text)
{
	AUTO(buf_release) struct buf clean = { 0 };
	utf8_clean_name(&clean, text);
	return keep(o, buf_str(&clean));
}

/* --- the engine's view ------------------------------------------------------------------------------------------- */

static void on_stats(void *ctx, const struct engine_answer *a, const struct fail *f)
{
	struct list_op *o = ctx;
	o->query = o->op.registry->engine->ops->query_free(o->query);
	for (size_t i = 0; !f && i < o->n; i++) {
		for (size_t k = 0; k < a->stats.n; k++) {
			if (!streq(o->containers[i], a->stats.v[k].name))
				continue;
			o->v[i].has_memory = true;
			o->v[i].memory = a->stats.v[k].memory;
		}
	}
	answer(o);
}

/* Adds where the sessions run, if the engine has several nodes. */
static void place(struct list_op *o, const struct engine_containers *found)
{
	for (size_t i = 0; i < o->n; i++) {
		for (size_t k = 0; k < found->n; k++) {
			const struct engine_container *c = &found->v[k];
			if (!c->phase || !streq(o->containers[i], c->name))
				continue;
			o->v[i].node = keep_shown(o, c->node ? c->node : "");
			o->v[i].phase = keep_shown(o, c->phase);
			o->v[i].reason = keep_shown(o, c->reason ? c->reason : "");
		}
	}
}

/* Drops rows of sessions that have ended, but whose server could not record the end. */
static void drop_gone(struct list_op *o, const struct engine_containers *found)
{
	size_t kept = 0;
	for (size_t i = 0; i < o->n; i++) {
		if (!o->unlisted[i] && !engine_containers_have(found, o->containers[i]))
			continue;
		o->unlisted[kept] = o->unlisted[i];
		o->v[kept] = o->v[i];
		o->containers[kept++] = o->containers[i];
	}
	o->n = kept;
}

static void on_containers(void *ctx, const struct engine_answer *a, const struct fail *f)
{
	struct list_op *o = ctx;
	struct engine *e = o->op.registry->engine;
	struct query_spec stats = { .kind = ENGINE_QUERY_STATS, .done = on_stats, .ctx = o };
	o->query = e->ops->query_free(o->query);
	if (f)
		fail_copy(&o->unsure, f);
	else
		drop_gone(o, &a->containers);
	if (!f)
		place(o, &a->containers);
	if (!f && o->n && engine_capabilities(e).measures_memory)
		o->query = e->ops->query(e, &stats, &o->unsure);
	if (!o->query)
		answer(o);
}

/* --- the store's view -------------------------------------------------------------------------------------------- */

static const char *shown_state(const struct session_record *row, bool owner_dead)
{
	if (owner_dead)
		return "left";
	return row->busy && row->state != ROW_ENDED ? "busy" : row_state_name(row->state);
}

static uint64_t idle_left(const struct list_op *o, const struct session_record *row, uint64_t now)
{
	uint64_t ttl = o->op.registry->config->idle_ttl, idle = row->busy ? 0 : (now - MIN(row->used, now)) / 1000;
	return ttl - MIN(idle, ttl);
}

static void add_row(struct list_op *o, const struct session_record *row, bool dead, uint64_t now)
{
	struct owner_claim claim = owner_claim_of(row);
	AUTO(freep) char *owner = dead ? xstrdup("none") : owner_words(&claim);
	AUTO(freep) char *rules = limits_json_text(row->limits, "rules");
	const char *host = row->container ? pool_host_of(row->container) : NULL;
	bool ended = row->state == ROW_ENDED;
	/* A session that was still starting ends with its server. */
	if ((ended && !o->request.all) || (dead && row->state == ROW_STARTING))
		return;
	o->v[o->n] = (struct listed_session){
		.id = keep_shown(o, row->id),
		.name = keep_shown(o, row->name ? row->name : "-"),
		.cause = keep_shown(o, ended && row->cause ? row->cause : ""),
		.runtime = keep_shown(o, row->runtime),
		.conversation = keep_shown(o, row->state == ROW_WARM ? "-" : row->thread),
		.state = shown_state(row, dead),
		.owner = keep_shown(o, owner),
		.transport = keep_shown(o, row->transport ? row->transport : "-"),
		.host = keep_shown(o, host ? host : ""),
		.node = "",
		.phase = "",
		.reason = "",
		.age_seconds = (now - MIN(row->created, now)) / 1000,
		.idle_seconds = row->busy ? 0 : (now - MIN(row->used, now)) / 1000,
		.limits = limits_from_json(row->limits, o->op.registry->config),
		.idle_left_seconds = idle_left(o, row, now),
		.network = limits_json_has_network(row->limits),
		.rules = rules ? keep_shown(o, rules) : NULL,
		.left_seconds = (row->ends - MIN(row->ends, now)) / 1000,
	};
	o->unlisted[o->n] = ended || row->state == ROW_STARTING || !rows_on_engine(row, o->op.registry->engine);
	o->containers[o->n++] = (char *)keep(o, row->container);
}

static void list_rows(struct op *op, const struct rows *rows)
{
	struct list_op *o = list_op_of(op);
	struct registry *r = op->registry;
	uint64_t now = store_now_ms();
	o->v = xcalloc(rows->n + 1, sizeof(*o->v));
	o->containers = xcalloc(rows->n + 1, sizeof(*o->containers));
	o->unlisted = xcalloc(rows->n + 1, sizeof(*o->unlisted));
	for (size_t i = rows->n; i > 0; i--)
		add_row(o, &rows->v[i - 1], rows->owner_dead[i - 1], now);
	struct query_spec containers = {
		.kind = ENGINE_QUERY_CONTAINERS, .subject = store_id(r->store), .done = on_containers, .ctx = o
	};
	if (o->n && !o->request.brief)
		o->query = r->engine->ops->query(r->engine, &containers, &o->unsure);
	if (!o->query)
		answer(o);
}

struct op *manager_list_all(struct manager *m, const struct list_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .rows = list_rows, .fail = answer_fail, .free = list_op_free };
	struct list_op *o = new0(struct list_op);
	op_init(&o->op, &m->registry, /* c= */ NULL, &type);
	o->request = *req;
	op_load_rows(&o->op);
	return &o->op;
}
