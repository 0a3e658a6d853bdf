/* A query to a session's interpreter: completion, help, whether code is complete. Queries are not logged. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/line/queries.h"
#include "manager/registry/op.h"

struct query_op {
	struct op op;
	struct query_request request; /* its session_id and code are NULL */
	char *code;
	struct query_waiter query_waiter;
};

static struct query_op *query_op_of(struct op *op)
{
	return container_of(op, struct query_op, op);
}

static void on_answer(struct query_waiter *a, const struct query_answer *answer, const struct fail *f)
{
	struct query_op *o = container_of(a, struct query_op, query_waiter);
	o->request.on_done(o->request.ctx, answer, f);
	op_end(&o->op);
}

static int start(struct op *op, struct fail *f)
{
	struct query_op *o = query_op_of(op);
	struct dispatch *d = session_dispatch(op->entry->session);
	d->used_ms = loop_now_ms();
	o->query_waiter.on_answer = on_answer;
	return query_start(&o->query_waiter, d,
			   &(struct query){ .kind = o->request.kind,
					    .code = o->code,
					    .len = o->request.len,
					    .cursor = o->request.cursor,
					    .detail = o->request.detail },
			   f);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct query_op *o = query_op_of(op);
	o->request.on_done(o->request.ctx, NULL, f);
}

static void query_op_free(struct op *op)
{
	struct query_op *o = query_op_of(op);
	query_stop(&o->query_waiter);
	free(o->code);
	free(o);
}

static int check(const struct query_request *req, struct fail *f)
{
	if (req->len > QUERY_TEXT_MAX)
		return cause_set(f, FAIL_LIMIT, CAUSE_TOO_LONG, "the code is longer than %u KiB", QUERY_TEXT_MAX >> 10);
	if (memchr(req->code, 0, req->len) || !utf8_valid(req->code, req->len))
		return fail_set(f, FAIL_INVALID, "the code is not valid UTF-8, or contains NUL");
	if (req->cursor > utf8_count(req->code, req->len))
		return fail_set(f, FAIL_INVALID, "the cursor is beyond the end of the code");
	return 0;
}

struct op *manager_query(struct conversation *c, const struct query_request *req, struct fail *f)
{
	static const struct op_type type = { .start = start, .fail = answer_fail, .free = query_op_free };
	if (check(req, f) < 0)
		return NULL;
	struct query_op *o = new0(struct query_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.session_id = o->request.code = NULL;
	o->code = xstrndup(req->code, req->len);
	return op_begin(&o->op, req->session_id, f);
}
