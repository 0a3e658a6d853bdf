/* Says whether the store and the engine answer. */
#include "base/alloc.h"
#include "manager/registry/registry.h"

struct ready_op {
	struct op op;
	struct ready_request request;
	struct store_job *job;
	struct engine_query *query;
	unsigned waits; /* answers that are missing */
	struct fail store, engine;
};

static struct ready_op *ready_op_of(struct op *op)
{
	return container_of(op, struct ready_op, op);
}

static void ready_op_free(struct op *op)
{
	struct ready_op *o = ready_op_of(op);
	store_cancel(o->job);
	if (o->query)
		op->registry->engine->ops->query_free(o->query);
	fail_release(&o->store);
	fail_release(&o->engine);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct ready_op *o = ready_op_of(op);
	o->request.on_done(o->request.ctx, f, NULL);
}

static void answered(struct ready_op *o)
{
	if (--o->waits)
		return;
	o->request.on_done(o->request.ctx, o->store.kind ? &o->store : NULL, o->engine.kind ? &o->engine : NULL);
	op_end(&o->op);
}

static void on_store(void *ctx, const struct tenant_limits *limits UNUSED, const struct fail *f)
{
	struct ready_op *o = ctx;
	o->job = NULL;
	if (f)
		fail_copy(&o->store, f);
	answered(o);
}

static void on_engine(void *ctx, const struct engine_answer *answer UNUSED, const struct fail *f)
{
	struct ready_op *o = ctx;
	if (f)
		fail_copy(&o->engine, f);
	answered(o);
}

struct op *manager_ready(struct manager *m, const struct ready_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = answer_fail, .free = ready_op_free };
	struct registry *r = &m->registry;
	struct ready_op *o = new0(struct ready_op);
	op_init(&o->op, r, /* c= */ NULL, &type);
	o->request = *req;
	o->waits = 1;
	o->query =
		r->engine->ops->query(r->engine,
				      &(struct query_spec){ .kind = ENGINE_QUERY_VERSION, .done = on_engine, .ctx = o },
				      &o->engine);
	if (o->query)
		o->waits++;
	/* Any small query: it fails if the connection is broken. */
	o->job = store_tenant_get(r->store, TENANT_LOCAL, on_store, o);
	return &o->op;
}
