/* Copies files into a session or out of it. */
#include "base/alloc.h"
#include "manager/files/entries.h"
#include "manager/registry/journal.h"
#include "manager/registry/op.h"

struct copy_op {
	struct op op;
	struct entries *entries;
	bool imports, unseen;
	void (*on_done)(void *ctx, const struct copy_result *results, size_t n, const struct fail *f);
	void *ctx;
};

static struct copy_op *copy_op_of(struct op *op)
{
	return container_of(op, struct copy_op, op);
}

static void on_done(void *ctx, const struct copy_result *results, size_t n)
{
	struct copy_op *o = ctx;
	for (size_t i = 0; i < n; i++)
		if (results[i].success && results[i].path && !o->unseen)
			journal_file(o->op.entry->journal, o->imports, results[i].path, results[i].size);
	o->on_done(o->ctx, results, n, NULL);
	op_end(&o->op);
}

static int start(struct op *op, struct fail *f UNUSED)
{
	struct session *s = op->entry->session;
	entries_start(copy_op_of(op)->entries, &(struct entries_place){ .session_id = session_id(s),
									.dispatch = session_dispatch(s),
									.conversation = op->entry->conversation,
									.limits = session_limits(s) });
	return 0;
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct copy_op *o = copy_op_of(op);
	o->on_done(o->ctx, NULL, 0, f);
}

static void copy_op_free(struct op *op)
{
	struct copy_op *o = copy_op_of(op);
	entries_free(o->entries);
	free(o);
}

struct op *manager_copy(struct conversation *c, const struct copy_request *req, struct fail *f)
{
	static const struct op_type type = { .start = start, .fail = answer_fail, .free = copy_op_free };
	if (values_wanted(req))
		return values_copy(c, req, f);
	struct registry *r = c->registry;
	struct copy_op *o = new0(struct copy_op);
	op_init(&o->op, r, c, &type);
	o->on_done = req->on_done;
	o->ctx = req->ctx;
	o->imports = req->imports != NULL;
	o->unseen = req->unseen;
	o->entries = entries_new(&(struct entries_spec){
		.loop = r->loop,
		.config = r->config,
		.store = r->store,
		.imports = req->imports,
		.exports = req->exports,
		.n = req->n,
		.temporary = req->temporary,
		.allowed = req->allowed,
		.on_progress = req->on_progress,
		.progress_ctx = req->ctx,
		.on_done = on_done,
		.ctx = o,
	});
	return op_begin(&o->op, req->session_id, f);
}
