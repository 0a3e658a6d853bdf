/* Waits until the search for sessions of ended servers is over, so that a list of sessions is complete. */
#include "base/alloc.h"
#include "manager/registry/adoption.h"

#define AWAIT_MS 5000

struct await_op {
	struct op op;
	struct await_request request;
	struct timer *timer; /* ends the wait; fires at once if no search is under way */
};

static struct await_op *await_op_of(struct op *op)
{
	return container_of(op, struct await_op, op);
}

static void answer(void *ctx)
{
	struct await_op *o = ctx;
	list_remove(&o->op.node);
	o->request.on_done(o->request.ctx, !conversation_is_adopting(o->op.conversation));
	op_end(&o->op);
}

static void adopted(struct op *op)
{
	if (!conversation_is_adopting(op->conversation))
		timer_start(await_op_of(op)->timer, 0, 0);
}

static void await_op_free(struct op *op)
{
	struct await_op *o = await_op_of(op);
	timer_free(o->timer);
	free(o);
}

struct op *manager_await(struct conversation *c, const struct await_request *req)
{
	static const struct op_type type = { .adopted = adopted, .free = await_op_free };
	struct await_op *o = new0(struct await_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->timer = timer_new(c->registry->loop, answer, o);
	timer_start(o->timer, conversation_is_adopting(c) ? AWAIT_MS : 0, 0);
	return &o->op;
}
