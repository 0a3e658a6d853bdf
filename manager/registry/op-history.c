/* Lists the runs of a session, no matter which conversation owned it. */
#include "base/alloc.h"
#include "manager/model/token.h"
#include "manager/registry/registry.h"
#include "manager/registry/rows.h"

struct history_op {
	struct op op;
	struct history_request request;
	char *id;
	struct store_job *job;
	struct strv strings; /* owns the strings of the history */
	struct executed *executed;
	struct history history;
};

static struct history_op *history_op_of(struct op *op)
{
	return container_of(op, struct history_op, op);
}

static void history_op_free(struct op *op)
{
	struct history_op *o = history_op_of(op);
	store_cancel(o->job);
	strv_release(&o->strings);
	free(o->executed);
	free(o->id);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct history_op *o = history_op_of(op);
	o->request.on_done(o->request.ctx, NULL, f);
}

static void answer(void *ctx)
{
	struct history_op *o = ctx;
	o->request.on_done(o->request.ctx, &o->history, NULL);
	op_end(&o->op);
}

static const char *keep(struct history_op *o, const char *text)
{
	if (!text)
		return NULL;
	strv_add(&o->strings, text);
	return o->strings.v[o->strings.n - 1];
}

/* Pieces come in the order of the runs. */
static void on_cells(void *ctx, const struct cell_list *list, const struct fail *f)
{
	struct history_op *o = ctx;
	o->job = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	AUTO(freep) const char **outputs = xcalloc(list->n + 1, sizeof(*outputs));
	const char **next = outputs;
	for (size_t i = 0, at = 0; i < list->n; i++) {
		const struct cell_piece *piece = &list->v[i];
		while (at < o->history.n && o->executed[at].seq < piece->seq)
			at++;
		struct executed *e = at < o->history.n && o->executed[at].seq == piece->seq ? &o->executed[at] : NULL;
		if (!e)
			continue;
		if (!piece->output) {
			e->text = piece->content;
			continue;
		}
		if (!e->outputs)
			e->outputs = next;
		*next++ = piece->content;
		e->n_outputs++;
	}
	o->history.cut = list->cut;
	answer(o);
}

static void on_executions(void *ctx, const struct execution_list *list, const struct fail *f)
{
	struct history_op *o = ctx;
	o->job = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	o->executed = xcalloc(list->n + 1, sizeof(*o->executed));
	for (size_t i = 0; i < list->n; i++) {
		const struct execution_record *e = &list->v[i];
		o->executed[i] = (struct executed){ .seq = e->seq,
						    .tool = keep(o, e->tool),
						    .started_ms = e->started,
						    .ended_ms = e->ended,
						    .ending = keep(o, e->ending),
						    .in_bytes = e->in_bytes,
						    .out_bytes = e->out_bytes,
						    .env = keep(o, e->env) };
	}
	o->history.v = o->executed;
	o->history.n = list->n;
	if (o->request.texts)
		o->job = store_cells(o->op.registry->store, o->id, /* seq= */ 0, on_cells, o);
	else
		answer(o);
}

static void on_session(void *ctx, const struct session_record *row, const struct fail *f)
{
	struct history_op *o = ctx;
	o->job = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	if (row) {
		struct owner_claim claim = owner_claim_of(row);
		AUTO(freep) char *owner = owner_words(&claim);
		bool elsewhere = row->state != ROW_ENDED && !streq(row->owner, o->op.registry->self.id);
		const char *address = elsewhere ? owner_address(&claim) : "";
		o->history = (struct history){
			.known = true,
			.id = keep(o, row->id),
			.name = keep(o, row->name),
			.owner = keep(o, owner),
			.owner_address = keep(o, address),
			.conversation = keep(o, row->thread),
			.runtime = keep(o, row->runtime),
			.state = row_state_name(row->state),
			.cause = keep(o, row->cause),
			.created_ms = row->created,
			.ended_ms = row->ended,
		};
	}
	o->job = store_executions(o->op.registry->store, o->id, /* before= */ 0, o->request.limit, on_executions, o);
}

static void find_session(struct op *op, const struct rows *rows)
{
	struct history_op *o = history_op_of(op);
	AUTO(fail_release) struct fail f = { 0 };
	for (size_t i = 0; !o->id && i < rows->n; i++)
		o->id = rows->v[i].state == ROW_WARM ? NULL : xstrdup(rows->v[i].id);
	if (!o->id)
		answer(o);
	else if (rows_resolve(rows, &o->id, &f) < 0)
		op_fail(op, &f);
	else
		o->job = store_session_get(op->registry->store, o->id, on_session, o);
}

struct op *manager_history(struct manager *m, const struct history_request *req, struct fail *f UNUSED)
{
	static const struct op_type type = { .rows = find_session, .fail = answer_fail, .free = history_op_free };
	struct registry *r = &m->registry;
	struct history_op *o = new0(struct history_op);
	op_init(&o->op, r, /* c= */ NULL, &type);
	o->request = *req;
	o->request.session_id = NULL;
	o->id = req->session_id ? xstrdup(req->session_id) : NULL;
	/* A listing must not create a store; without one there is no history. */
	if (!store_is_there(r->config))
		op_soon(&o->op, answer, o);
	else if (o->id && token_is_valid(o->id))
		o->job = store_session_get(r->store, o->id, on_session, o);
	else
		op_load_rows(&o->op);
	return &o->op;
}
