/* A question to a session's interpreter: completion, help, whether code is whole. Nothing of it is logged. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/line/asks.h"
#include "manager/registry/op.h"

struct ask_op {
	struct op op;
	struct ask_request request; /* session_id and code are ours or NULL */
	char *code;
	struct asker asker;
};

static struct ask_op *ask_op_of(struct op *op)
{
	return container_of(op, struct ask_op, op);
}

static void on_answer(struct asker *a, const struct ask_answer *answer, const struct fail *f)
{
	struct ask_op *o = container_of(a, struct ask_op, asker);
	o->request.on_done(o->request.ctx, answer, f);
	op_end(&o->op);
}

static int start(struct op *op, struct fail *f)
{
	struct ask_op *o = ask_op_of(op);
	struct dispatch *d = session_dispatch(op->member->session);
	d->used_ms = loop_now_ms();
	o->asker.on_answer = on_answer;
	return ask_start(&o->asker, d,
			 &(struct ask){ .kind = o->request.kind,
					.code = o->code,
					.len = o->request.len,
					.cursor = o->request.cursor,
					.detail = o->request.detail },
			 f);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct ask_op *o = ask_op_of(op);
	o->request.on_done(o->request.ctx, NULL, f);
}

static void ask_op_free(struct op *op)
{
	struct ask_op *o = ask_op_of(op);
	ask_stop(&o->asker);
	free(o->code);
	free(o);
}

static int check(const struct ask_request *req, struct fail *f)
{
	if (req->len > ASK_CODE_MAX)
		return cause_set(f, FAIL_LIMIT, CAUSE_TOO_LONG, "the code is longer than %u KiB", ASK_CODE_MAX >> 10);
	if (memchr(req->code, 0, req->len) || !utf8_valid(req->code, req->len))
		return fail_set(f, FAIL_INVALID, "the code is no valid UTF-8, or has a NUL in it");
	if (req->cursor > utf8_count(req->code, req->len))
		return fail_set(f, FAIL_INVALID, "the cursor is behind the end of the code");
	return 0;
}

struct op *manager_ask(struct conversation *c, const struct ask_request *req, struct fail *f)
{
	static const struct op_type type = { .start = start, .fail = answer_fail, .free = ask_op_free };
	if (check(req, f) < 0)
		return NULL;
	struct ask_op *o = new0(struct ask_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.session_id = o->request.code = NULL;
	o->code = xstrndup(req->code, req->len);
	return op_begin(&o->op, req->session_id, f);
}
