/* Ends a session on its conversation's request, and one session or all of them on a person's request, no matter which
 * client uses them. */
#include "manager/registry/op.h"
#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/registry/claims.h"
#include "manager/registry/rows.h"

/* --- for the conversation ---------------------------------------------------------------------------------------- */

struct stop_op {
	struct op op;
	struct stop_request request;
};

static struct stop_op *stop_op_of(struct op *op)
{
	return container_of(op, struct stop_op, op);
}

static void found(struct op *op)
{
	session_stop(op->entry->session);
}

static void answer(struct op *op, const struct fail *f)
{
	struct stop_op *o = stop_op_of(op);
	o->request.on_done(o->request.ctx, f);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	/* A dead session is already stopped. */
	answer(op, f->kind == FAIL_DIED ? NULL : f);
}

static void stop_op_free(struct op *op)
{
	free(stop_op_of(op));
}

struct op *manager_stop(struct conversation *c, const struct stop_request *req, struct fail *f)
{
	static const struct op_type type = {
		.found = found, .stopped = answer, .fail = answer_fail, .free = stop_op_free
	};
	struct stop_op *o = new0(struct stop_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.session_id = NULL;
	return op_seek(&o->op, req->session_id, f);
}

/* --- for a person ------------------------------------------------------------------------------------------------ */

struct stop_all_op {
	struct op op;
	struct stop_all_request request;
	char *id; /* NULL = all */
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
	store_cancel(o->job);
	if (o->task)
		op->registry->engine->ops->task_cancel(o->task);
	strv_release(&o->containers);
	strv_release(&o->marks);
	fail_release(&o->failure);
	free(o->id);
	free(o);
}

static void stop_all_fail(struct op *op, const struct fail *f)
{
	struct stop_all_op *o = stop_all_op_of(op);
	o->request.on_done(o->request.ctx, o->stopped, f);
}

static void finish_all(struct stop_all_op *o)
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
		finish_all(o);
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

/* Stopping removes the container, which only a server with its engine can do. */
static bool is_elsewhere(struct stop_all_op *o, const struct session_record *row)
{
	const struct engine *e = o->op.registry->engine;
	if (rows_on_engine(row, e))
		return false;
	if (!o->failure.kind)
		cause_set(&o->failure, FAIL_BUSY, CAUSE_OTHER_ENGINE,
			  "session '%s' runs on another engine than '%s' (CONTAINER_ENGINE)", row->id, e->ops->name);
	return true;
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
		if (row->state != ROW_WARM || !is_meant(o, row) || is_elsewhere(o, row))
			continue;
		if (row->container)
			add_container(o, row);
		claim_drop_row(o->op.registry->store, row);
	}
}

static void stop_rows(struct op *op, const struct rows *rows)
{
	struct stop_all_op *o = stop_all_op_of(op);
	struct registry *r = op->registry;
	AUTO(fail_release) struct fail none = { 0 };
	if (o->id && rows_resolve(rows, &o->id, &none) < 0) {
		op_fail(op, &none);
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
		if (is_elsewhere(o, row))
			continue;
		add_container(o, row);
		claim_end_row(r->store, row, CLAIM_STOPPED_BY_HAND);
	}
	o->sessions = o->containers.n;
	stop_warm(o, rows);
	/* The store runs its jobs in order: after this one all earlier ones are done. */
	if (o->containers.n)
		o->job = store_identify(r->store, on_marked, o);
	else
		finish_all(o);
}

struct op *manager_stop_all(struct manager *m, const struct stop_all_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .rows = stop_rows, .fail = stop_all_fail, .free = stop_all_op_free };
	struct stop_all_op *o = new0(struct stop_all_op);
	op_init(&o->op, &m->registry, /* c= */ NULL, &type);
	o->request = *req;
	o->request.session_id = NULL;
	o->id = req->session_id ? xstrdup(req->session_id) : NULL;
	op_load_rows(&o->op);
	return &o->op;
}
