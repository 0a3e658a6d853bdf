/* Reads the state of a task or cancels it. While the task is active, the state is in the memory of its server;
 * otherwise it is in the store. */
#include "base/alloc.h"
#include "manager/model/cause.h"
#include "manager/model/token.h"
#include "manager/registry/op.h"
#include "manager/registry/task.h"

struct task_op {
	struct op op;
	struct task_request request;
	struct conversation_wait wait;
	struct store_job *job;
	struct timer *soon;
	char id[TOKEN_SIZE];
	bool session_seen;
};

static struct task_op *task_op_of(struct op *op)
{
	return container_of(op, struct task_op, op);
}

static int no_task(struct fail *f, const char *id)
{
	cause_set(f, FAIL_NOT_FOUND, CAUSE_NO_TASK, "there is no task '%.64s' in this conversation", id);
	return fail_hint(f, "A task is known until its session's lifetime is over.");
}

static void answer(struct task_op *o, const struct task_info *info, const struct fail *f)
{
	o->request.on_done(o->request.ctx, info, f);
	op_end(&o->op);
}

static void on_stop_stored(void *ctx, const struct fail *f UNUSED);

static bool answer_from_memory(struct task_op *o)
{
	struct task *t = task_find(o->op.conversation, o->id);
	if (!t)
		return false;
	if (o->request.cancel && (o->job = task_stop(t, on_stop_stored, o)))
		return true;
	struct task_info info = task_info(t);
	answer(o, &info, NULL);
	return true;
}

static void load_row(struct task_op *o);

/* The session and its tasks are loaded. */
static int start(struct op *op, struct fail *f UNUSED)
{
	struct task_op *o = task_op_of(op);
	o->session_seen = true;
	timer_start(o->soon, 0, 0);
	return 0;
}

static void find_session(struct task_op *o, const char *session)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct task_request request = o->request;
	if (!op_begin(&o->op, session, &f))
		request.on_done(request.ctx, NULL, &f);
}

static void on_row(void *ctx, const struct task_record *row, const struct fail *f)
{
	struct task_op *o = ctx;
	AUTO(fail_release) struct fail none = { 0 };
	o->job = NULL;
	if (f) {
		answer(o, NULL, f);
	} else if (!row) {
		answer(o, NULL, (no_task(&none, o->id), &none));
	} else if (row->expires && row->expires < store_now_ms()) {
		cause_set(&none, FAIL_NOT_FOUND, CAUSE_TASK_EXPIRED,
			  "task '%s' has expired with its session's lifetime", o->id);
		answer(o, NULL, &none);
	} else if (row->state == TASK_ENDED || row->state == TASK_CANCELLED) {
		struct task_info info = task_info_of_record(row);
		answer(o, &info, NULL);
	} else if (o->session_seen) {
		/* The session exists, but the task's run does not. */
		answer(o, NULL, (no_task(&none, o->id), &none));
	} else {
		find_session(o, row->session);
	}
}

static void load_row(struct task_op *o)
{
	const char *conversation = o->op.conversation->id;
	/* A user without a conversation has no tasks: no conversation has an empty id. */
	o->job = store_task_get(o->op.registry->store, conversation ? conversation : "", o->id, on_row, o);
}

static void on_soon(void *ctx)
{
	struct task_op *o = ctx;
	if (!answer_from_memory(o))
		load_row(o);
}

/* The cancel is stored first, so that the next server knows of it if this one is killed after the answer. The run
 * is interrupted even if the store failed, so the answer is the same. */
static void on_stop_stored(void *ctx, const struct fail *f UNUSED)
{
	struct task_op *o = ctx;
	o->job = NULL;
	o->request.cancel = false;
	on_soon(o);
}

static void on_known(void *ctx, const char *id UNUSED)
{
	on_soon(ctx);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct task_op *o = task_op_of(op);
	o->request.on_done(o->request.ctx, NULL, f);
}

static void task_op_free(struct op *op)
{
	struct task_op *o = task_op_of(op);
	list_remove(&o->wait.node);
	store_cancel(o->job);
	timer_free(o->soon);
	free(o);
}

struct op *manager_task(struct conversation *c, const struct task_request *req, struct fail *f)
{
	static const struct op_type type = { .start = start, .fail = answer_fail, .free = task_op_free };
	/* The store is not queried for a malformed id, since no such task can exist. */
	if (!token_is_valid(req->id)) {
		no_task(f, req->id);
		return NULL;
	}
	struct task_op *o = new0(struct task_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.id = NULL;
	snprintf(o->id, sizeof(o->id), "%s", req->id);
	o->soon = timer_new(c->registry->loop, on_soon, o);
	list_init(&o->wait.node);
	if (c->id) {
		timer_start(o->soon, 0, 0);
		return &o->op;
	}
	o->wait.fn = on_known;
	o->wait.ctx = o;
	conversation_prepare(c, &o->wait);
	return &o->op;
}
