/* One round of garbage collection on request. */
#include "base/alloc.h"
#include "manager/registry/gc.h"
#include "manager/registry/registry.h"

struct collect_op {
	struct op op;
	struct collect_request request;
	struct gc *gc;
};

static struct collect_op *collect_op_of(struct op *op)
{
	return container_of(op, struct collect_op, op);
}

static void collect_op_free(struct op *op)
{
	struct collect_op *o = collect_op_of(op);
	gc_free(o->gc);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct collect_op *o = collect_op_of(op);
	o->request.on_done(o->request.ctx, &(struct collected){ 0 }, f);
}

static void on_collected(void *ctx, const struct gc_report *report, const struct fail *f)
{
	struct collect_op *o = ctx;
	struct collected collected = { .containers = report->containers.v,
				       .n = report->containers.n,
				       .sessions = report->sessions,
				       .exports = report->exports };
	o->request.on_done(o->request.ctx, &collected, f);
	op_end(&o->op);
}

struct op *manager_collect_garbage(struct manager *m, const struct collect_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .fail = answer_fail, .free = collect_op_free };
	struct registry *r = &m->registry;
	struct collect_op *o = new0(struct collect_op);
	op_init(&o->op, r, /* c= */ NULL, &type);
	o->request = *req;
	o->gc = gc_start(&(struct gc_spec){ .loop = r->loop,
					    .config = r->config,
					    .engine = r->engine,
					    .store = r->store,
					    .self = r->self.id,
					    .on_done = on_collected,
					    .ctx = o });
	return &o->op;
}
