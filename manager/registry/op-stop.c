/* Ends a session on its conversation's request. */
#include "manager/registry/op.h"
#include "base/alloc.h"
#include "manager/model/cause.h"

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
