/* Ends one session or all of them on a person's request, no matter which client uses them. */
#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/registry/claims.h"
#include "manager/registry/registry.h"
#include "manager/registry/rows.h"

struct stop_all_op {
	struct op op;
	struct stop_all_request request;
	char *id; /* NULL = all */
	struct rows_load *load;
	struct store_job *job;
	struct engine_task *task;
	struct strv containers; /* names of containers to remove, from `at` on; warm containers are last */
	struct strv marks;	/* for each container; "" = none */
	size_t sessions;	/* number of containers that are sessions */
	size_t at, stopped;
	struct fail failure; /* the first failure */
};

static void remove_next(struct stop_all_op *o);

static struct stop_all_op *stop_all_op_of(struct op *op)
{
	return container_of(op, struct stop_all_op, op);
}

static void stop_all_op_free(struct op *op)
{
	struct stop_all_op *o = stop_all_op_of(op);
	rows_load_cancel(o->load);
	store_cancel(o->job);
	if (o->task)
		op->registry->engine->ops->task_cancel(o->task);
	strv_release(&o->containers);
	strv_release(&o->marks);
	fail_release(&o->failure);
	free(o->id);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct stop_all_op *o = stop_all_op_of(op);
	o->request.on_done(o->request.ctx, o->stopped, f);
}

static void finish(struct stop_all_op *o)
{
	if (o->id && !o->containers.n && !o->failure.kind)
		cause_no_session(&o->failure, o->id);
	o->request.on_done(o->request.ctx, o->stopped, o->failure.kind ? &o->failure : NULL);
	op_end(&o->op);
}

static void on_removed(void *ctx, const struct fail *f)
{
	struct stop_all_op *o = ctx;
	o->task = NULL;
	if (f && !o->failure.kind)
		fail_copy(&o->failure, f);
	o->stopped += !f && (o->id || o->at < o->sessions);
	o->at++;
	remove_next(o);
}

static void remove_one(struct stop_all_op *o, struct engine *e)
{
	const char *mark = o->marks.v[o->at];
	struct container_ref ref = { .name = o->containers.v[o->at],
				     .store = store_id(o->op.registry->store),
				     .mark = *mark ? mark : NULL };
	o->task = e->ops->remove(e, &ref, on_removed, o);
}

static void remove_next(struct stop_all_op *o)
{
	struct engine *e = o->op.registry->engine;
	if (o->at == o->containers.n)
		finish(o);
	else
		remove_one(o, e);
}

/* The row gets the cause before the container is removed. The container is removed even if another server owns the
 * row by now or the store does not answer. */
static void on_marked(void *ctx, const struct fail *f UNUSED)
{
	struct stop_all_op *o = ctx;
	o->job = NULL;
	remove_next(o);
}

static bool is_meant(const struct stop_all_op *o, const struct session_record *row)
{
	return !o->id || streq(o->id, row->id);
}

static void add_container(struct stop_all_op *o, const struct session_record *row)
{
	strv_add(&o->containers, row->container ? row->container : "");
	strv_add(&o->marks, row->mark ? row->mark : "");
}

/* Warm containers belong to no conversation, so no cause is recorded. */
static void stop_warm(struct stop_all_op *o, const struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct session_record *row = &rows->v[i];
		if (row->state != ROW_WARM || !is_meant(o, row))
			continue;
		if (row->container)
			add_container(o, row);
		claim_drop_row(o->op.registry->store, row);
	}
}

static void on_rows(void *ctx, const struct rows *rows, const struct fail *f)
{
	struct stop_all_op *o = ctx;
	struct registry *r = o->op.registry;
	AUTO(fail_release) struct fail none = { 0 };
	o->load = NULL;
	if (f || (o->id && rows_resolve(rows, &o->id, &none) < 0)) {
		op_fail(&o->op, f ? f : &none);
		return;
	}
	for (size_t i = rows->n; i > 0; i--) {
		const struct session_record *row = &rows->v[i - 1];
		bool half_made = rows->owner_dead[i - 1] && row->state == ROW_STARTING;
		if (row->state == ROW_ENDED || row->state == ROW_WARM || half_made || !is_meant(o, row))
			continue;
		if (row->seal == SEAL_BROKEN) {
			if (!o->failure.kind)
				claim_changed_row(row, &o->failure);
			continue;
		}
		add_container(o, row);
		claim_end_row(r->store, row, CLAIM_STOPPED_BY_HAND);
	}
	o->sessions = o->containers.n;
	stop_warm(o, rows);
	/* The store runs its jobs in order: after this one all earlier ones are done. */
	if (o->containers.n)
		o->job = store_identify(r->store, on_marked, o);
	else
		finish(o);
}

struct op *manager_stop_all(struct manager *m, const struct stop_all_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = answer_fail, .free = stop_all_op_free };
	struct registry *r = &m->registry;
	struct stop_all_op *o = new0(struct stop_all_op);
	op_init(&o->op, r, /* c= */ NULL, &type);
	o->request = *req;
	o->request.session_id = NULL;
	o->id = req->session_id ? xstrdup(req->session_id) : NULL;
	o->load = rows_load(&(struct rows_spec){
		.loop = r->loop, .config = r->config, .store = r->store, .fn = on_rows, .ctx = o });
	return &o->op;
}
