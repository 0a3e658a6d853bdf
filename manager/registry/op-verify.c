/* Checks that the log of one session, or of all, was not changed after it was written. */
#include "base/alloc.h"
#include "manager/model/token.h"
#include "manager/registry/registry.h"
#include "manager/registry/rows.h"

struct verify_op {
	struct op op;
	struct verify_request request;
	struct strv sessions; /* sessions to check, from `at` on */
	size_t at;
	struct store_job *job;
};

static void verify_next(struct verify_op *o);

static struct verify_op *verify_op_of(struct op *op)
{
	return container_of(op, struct verify_op, op);
}

static void verify_op_free(struct op *op)
{
	struct verify_op *o = verify_op_of(op);
	store_cancel(o->job);
	strv_release(&o->sessions);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct verify_op *o = verify_op_of(op);
	o->request.on_done(o->request.ctx, f);
}

static void finish(void *ctx)
{
	struct verify_op *o = ctx;
	o->request.on_done(o->request.ctx, NULL);
	op_end(&o->op);
}

static void on_verdict(void *ctx, const struct log_verdict *verdict, const struct fail *f)
{
	struct verify_op *o = ctx;
	o->job = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	o->request.on_verdict(o->request.ctx, o->sessions.v[o->at++], verdict);
	verify_next(o);
}

static void verify_next(struct verify_op *o)
{
	if (o->at < o->sessions.n)
		o->job = store_verify(o->op.registry->store, o->sessions.v[o->at], on_verdict, o);
	else
		finish(o);
}

static void on_chains(void *ctx, char *const *names, size_t n, const struct fail *f)
{
	struct verify_op *o = ctx;
	o->job = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	for (size_t i = 0; i < n; i++)
		strv_add(&o->sessions, names[i]);
	verify_next(o);
}

static void find_session(struct op *op, const struct rows *rows)
{
	struct verify_op *o = verify_op_of(op);
	AUTO(fail_release) struct fail f = { 0 };
	if (rows_resolve(rows, &o->sessions.v[0], &f) < 0)
		op_fail(op, &f);
	else
		verify_next(o);
}

struct op *manager_verify(struct manager *m, const struct verify_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .rows = find_session, .fail = answer_fail, .free = verify_op_free };
	struct registry *r = &m->registry;
	struct verify_op *o = new0(struct verify_op);
	op_init(&o->op, r, /* c= */ NULL, &type);
	o->request = *req;
	o->request.session_id = NULL;
	if (!store_is_there(r->config)) {
		/* A check must not create a store. */
		op_soon(&o->op, finish, o);
	} else if (req->session_id) {
		/* A full id needs no row: the row may have been removed, which the check must detect. */
		strv_add(&o->sessions, req->session_id);
		if (token_is_valid(req->session_id))
			verify_next(o);
		else
			op_load_rows(&o->op);
	} else {
		o->job = store_chains(r->store, on_chains, o);
	}
	return &o->op;
}
