/* A request about the checkpoints of a session's interpreter. */
#include "base/alloc.h"
#include "manager/checkpoint.h"
#include "manager/line/checkpoints.h"
#include "manager/registry/journal.h"
#include "manager/registry/op.h"

struct checkpoint_op {
	struct op op;
	struct checkpoint_request request; /* its session_id and name are NULL */
	char *name;
	struct query_waiter waiter;
};

static struct checkpoint_op *checkpoint_op_of(struct op *op)
{
	return container_of(op, struct checkpoint_op, op);
}

/* Adds what was done to the session's journal. */
static void record(const struct checkpoint_op *o, const struct checkpoint_answer *answer)
{
	const char *name = o->name;
	uint64_t run = o->request.run;
	if (answer->saved)
		run = answer->saved->run;
	if (answer->restored) {
		name = answer->restored->name;
		run = answer->restored->run;
	}
	journal_checkpoint(o->op.entry->journal, o->request.action, name, run);
}

static void on_json(struct query_waiter *a, const struct json_t *said, const struct fail *f)
{
	struct checkpoint_op *o = container_of(a, struct checkpoint_op, waiter);
	AUTO(checkpoint_answer_release) struct checkpoint_answer answer = { 0 };
	AUTO(fail_release) struct fail refused = { 0 };
	bool fine = said && checkpoints_read(said, &answer, &refused) == 0;
	if (fine)
		record(o, &answer);
	o->request.on_done(o->request.ctx, fine ? &answer : NULL, fine ? NULL : said ? &refused : f);
	op_end(&o->op);
}

static int start(struct op *op, struct fail *f)
{
	struct checkpoint_op *o = checkpoint_op_of(op);
	struct dispatch *d = session_dispatch(op->entry->session);
	d->used_ms = loop_now_ms();
	o->waiter.on_json = on_json;
	return checkpoints_start(
		&o->waiter, d,
		&(struct checkpoint_wish){ .action = o->request.action, .name = o->name, .run = o->request.run }, f);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct checkpoint_op *o = checkpoint_op_of(op);
	o->request.on_done(o->request.ctx, NULL, f);
}

static void checkpoint_op_free(struct op *op)
{
	struct checkpoint_op *o = checkpoint_op_of(op);
	query_stop(&o->waiter);
	free(o->name);
	free(o);
}

struct op *manager_checkpoint(struct conversation *c, const struct checkpoint_request *req, struct fail *f)
{
	static const struct op_type type = { .start = start, .fail = answer_fail, .free = checkpoint_op_free };
	struct checkpoint_op *o = new0(struct checkpoint_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.session_id = o->request.name = NULL;
	o->name = req->name ? xstrdup(req->name) : NULL;
	return op_begin(&o->op, req->session_id, f);
}
