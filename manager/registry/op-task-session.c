/* Finds the session of a task, so that a request for the task can be passed on to the server of the session. */
#include "base/alloc.h"
#include "manager/model/token.h"
#include "manager/registry/registry.h"
#include "manager/registry/task.h"

struct task_session_op {
	struct op op;
	struct task_session_request request;
	struct store_job *job;
};

static struct task_session_op *task_session_op_of(struct op *op)
{
	return container_of(op, struct task_session_op, op);
}

static void task_session_op_free(struct op *op)
{
	struct task_session_op *o = task_session_op_of(op);
	store_cancel(o->job);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f UNUSED)
{
	struct task_session_op *o = task_session_op_of(op);
	o->request.on_done(o->request.ctx, NULL);
}

/* The result of a task that has ended is in the store. */
static void on_row(void *ctx, const struct task_record *row, const struct fail *f)
{
	struct task_session_op *o = ctx;
	o->job = NULL;
	bool active = !f && row && row->state != TASK_ENDED && row->state != TASK_CANCELLED;
	o->request.on_done(o->request.ctx, active ? row->session : NULL);
	op_end(&o->op);
}

struct op *manager_task_session(struct conversation *c, const struct task_session_request *req, struct fail *f)
{
	static const struct op_type type = { .fail = answer_fail, .free = task_session_op_free };
	if (!c->id || !token_is_valid(req->task) || task_find(c, req->task)) {
		fail_set(f, FAIL_NOT_FOUND, "no other server has the task");
		return NULL;
	}
	struct task_session_op *o = new0(struct task_session_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->job = store_task_get(c->registry->store, c->id, req->task, on_row, o);
	return &o->op;
}
