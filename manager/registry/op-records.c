/* Lists the records of runs, shows one, and opens readers of journals. Runs that are not in memory any more are read
 * from the store. */
#include "base/alloc.h"
#include "manager/model/token.h"
#include "manager/registry/claims.h"
#include "manager/registry/journal.h"
#include "manager/registry/op.h"

struct records_op {
	struct op op;
	struct runs_request list; /* on_done NULL = `one` is set instead */
	struct run_record_request one;
	struct conversation_wait wait;
	struct timer *soon;
	struct store_job *job;
	char *session;
	struct run_record *v;
	size_t n, asked;
	bool more;
	struct strv strings; /* owns the strings of records from the store */
	const char **outputs;
	size_t n_outputs;
};

static struct records_op *records_op_of(struct op *op)
{
	return container_of(op, struct records_op, op);
}

static void records_op_free(struct op *op)
{
	struct records_op *o = records_op_of(op);
	list_remove(&o->wait.node);
	timer_free(o->soon);
	store_cancel(o->job);
	strv_release(&o->strings);
	free(o->outputs);
	free(o->session);
	free(o->v);
	free(o);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct records_op *o = records_op_of(op);
	if (o->list.on_done)
		o->list.on_done(o->list.ctx, NULL, 0, /* more= */ false, f);
	else
		o->one.on_done(o->one.ctx, NULL, f);
}

static void fail_unknown(struct records_op *o)
{
	AUTO(fail_release) struct fail f = { 0 };
	cause_set(&f, FAIL_NOT_FOUND, CAUSE_NO_RUN, "there is no record of run %llu in this session",
		  (unsigned long long)o->one.number);
	op_fail(&o->op, &f);
}

static void answer_list(struct records_op *o)
{
	o->list.on_done(o->list.ctx, o->v, o->n, o->more, NULL);
	op_end(&o->op);
}

/* --- from the store ---------------------------------------------------------------------------------------------- */

static const char *keep(struct records_op *o, const char *text)
{
	if (!text)
		return NULL;
	strv_add(&o->strings, text);
	return o->strings.v[o->strings.n - 1];
}

static bool is_run(const struct execution_record *e)
{
	return streq(e->tool, run_tool(RUN_CODE)) || streq(e->tool, run_tool(RUN_TERMINAL));
}

/* The manager knows every run that has not ended. So a run that is only in the store has ended, even if its ending was
 * not stored. */
static struct run_record record_of(struct records_op *o, const struct execution_record *e)
{
	return (struct run_record){ .number = e->seq,
				    .kind = streq(e->tool, run_tool(RUN_TERMINAL)) ? RUN_TERMINAL : RUN_CODE,
				    .state = RECORD_ENDED,
				    .queued_ms = e->started,
				    .started_ms = e->started,
				    .ended_ms = e->ended,
				    .ending = keep(o, e->ending),
				    .dropped = e->out_bytes };
}

/* Fills the page with the newest runs that are in memory. */
static void list_memory(struct records_op *o)
{
	struct journal *j = journals_find(o->op.registry->journals, o->session);
	o->n = j ? journal_list_records(j, o->list.before, o->v, o->list.limit) : 0;
}

/* The runs in memory are listed again, since they may have changed meanwhile. Other entries of the log, such as copies,
 * are not runs. */
static void on_listed(void *ctx, const struct execution_list *list, const struct fail *f)
{
	struct records_op *o = ctx;
	o->job = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	list_memory(o);
	uint64_t before = o->n ? o->v[o->n - 1].number : UINT64_MAX;
	for (size_t i = list->n; i > 0; i--) {
		const struct execution_record *e = &list->v[i - 1];
		bool listed = is_run(e) && e->seq < before;
		o->more |= listed && o->n == o->list.limit;
		if (listed && !o->more)
			o->v[o->n++] = record_of(o, e);
	}
	o->more |= list->n == o->asked;
	answer_list(o);
}

static void on_cells(void *ctx, const struct cell_list *list, const struct fail *f)
{
	struct records_op *o = ctx;
	struct run_record *r = &o->v[0];
	o->job = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	/* A killed server may have stored the cell, but not yet its entry in the log. */
	if (!r->number && !list->n) {
		fail_unknown(o);
		return;
	}
	r->number = o->one.number;
	r->state = RECORD_ENDED;
	o->outputs = xcalloc(list->n + 1, sizeof(*o->outputs));
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].output) {
			o->outputs[o->n_outputs++] = list->v[i].content;
		} else {
			r->text = list->v[i].content;
			r->len = strlen(r->text);
		}
	}
	r->outputs = o->outputs;
	r->n_outputs = o->n_outputs;
	r->dropped = o->n_outputs ? 0 : r->dropped;
	o->one.on_done(o->one.ctx, r, NULL);
	op_end(&o->op);
}

static void on_found(void *ctx, const struct execution_list *list, const struct fail *f)
{
	struct records_op *o = ctx;
	o->job = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	if (list->n && list->v[0].seq == o->one.number && is_run(&list->v[0]))
		o->v[0] = record_of(o, &list->v[0]);
	o->job = store_cells(o->op.registry->store, o->session, o->one.number, on_cells, o);
}

static void read_store(struct records_op *o)
{
	struct store *store = o->op.registry->store;
	o->asked = o->list.limit - o->n + 1;
	if (o->list.on_done)
		o->job = store_executions(store, o->session, o->n ? o->v[o->n - 1].number : o->list.before, o->asked,
					  on_listed, o);
	else
		o->job = store_executions(store, o->session, o->one.number + 1, 1, on_found, o);
}

/* Its server has ended, so only PID 1 knows how its last runs are: this manager takes the session over. */
static void take_over(struct records_op *o)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct records_op asked = *o;
	if (!op_begin(&o->op, asked.session, &f))
		answer_fail(&asked.op, &f);
}

/* The session is not in this manager: only the store knows its conversation. */
static void on_row(void *ctx, const struct session_record *row, const struct fail *f)
{
	struct records_op *o = ctx;
	AUTO(fail_release) struct fail why = { 0 };
	o->job = NULL;
	if (!f && (!row || row->state == ROW_WARM))
		cause_no_session(&why, o->session);
	else if (!f)
		conversation_check(o->op.conversation, row->thread, o->session, &why);
	if (f || why.kind)
		op_fail(&o->op, f ? f : &why);
	else if (row->state == ROW_ENDED)
		read_store(o);
	else
		take_over(o);
}

/* --- from memory ------------------------------------------------------------------------------------------------- */

static void show(void *ctx, const struct run_record *record)
{
	struct records_op *o = ctx;
	o->one.on_done(o->one.ctx, record, NULL);
}

static void read_journal(struct records_op *o, struct journal *j)
{
	if (!o->list.on_done) {
		if (journal_show_record(j, o->one.number, o->one.peek, show, o))
			op_end(&o->op);
		else
			read_store(o);
		return;
	}
	list_memory(o);
	o->more = o->n == o->list.limit && o->v[o->n - 1].number > 1;
	if (o->more || (o->n && o->v[o->n - 1].number == 1))
		answer_list(o);
	else
		read_store(o);
}

/* The session was taken over. */
static int taken_over(struct op *op, struct fail *f UNUSED)
{
	struct records_op *o = records_op_of(op);
	struct journal *j = journals_find(op->registry->journals, o->session);
	if (j)
		read_journal(o, j);
	else
		read_store(o);
	return 0;
}

/* It was not, because its container is gone. */
static bool gone(struct op *op, const struct fail *f UNUSED)
{
	op->entry = NULL;
	op->timer = timer_free(op->timer);
	free(take_ptr(op->wanted));
	read_store(records_op_of(op));
	return true;
}

static void begin(void *ctx)
{
	struct records_op *o = ctx;
	struct registry *r = o->op.registry;
	struct session_entry *entry = registry_find(r, o->session);
	struct journal *j = journals_find(r->journals, o->session);
	AUTO(fail_release) struct fail f = { 0 };
	if (j && conversation_check(o->op.conversation, journal_conversation(j), o->session, &f) < 0)
		op_fail(&o->op, &f);
	else if (entry && session_state(entry->session) == SESSION_ADOPTING)
		take_over(o);
	else if (j)
		read_journal(o, j);
	else if (store_is_there(r->config))
		o->job = store_session_get(r->store, o->session, on_row, o);
	else
		op_fail(&o->op, (cause_no_session(&f, o->session), &f));
}

static void on_known(void *ctx, const char *id UNUSED)
{
	begin(ctx);
}

/* --- requests ---------------------------------------------------------------------------------------------------- */

static struct records_op *records_op_new(struct conversation *c, const char *word, size_t n, struct fail *f)
{
	static const struct op_type type = {
		.start = taken_over, .dead = gone, .fail = answer_fail, .free = records_op_free
	};
	struct session_entry *entry;
	if (registry_resolve(c->registry, c->id, word, &entry, f) < 0)
		return NULL;
	const char *session = entry ? session_id(entry->session) : word;
	if (!token_is_valid(session))
		return cause_no_session(f, session), NULL;
	struct records_op *o = new0(struct records_op);
	op_init(&o->op, c->registry, c, &type);
	o->session = xstrdup(session);
	o->v = xcalloc(n + 1, sizeof(*o->v));
	list_init(&o->wait.node);
	if (c->id) {
		o->soon = timer_new(c->registry->loop, begin, o);
		timer_start(o->soon, 0, 0);
		return o;
	}
	o->wait.fn = on_known;
	o->wait.ctx = o;
	conversation_prepare(c, &o->wait);
	return o;
}

struct op *manager_runs(struct conversation *c, const struct runs_request *req, struct fail *f)
{
	size_t limit = MIN(MAX(req->limit, 1), (size_t)RUNS_PAGE_MAX);
	struct records_op *o = records_op_new(c, req->session_id, limit, f);
	if (!o)
		return NULL;
	o->list = *req;
	o->list.limit = limit;
	return &o->op;
}

struct op *manager_run_record(struct conversation *c, const struct run_record_request *req, struct fail *f)
{
	struct records_op *o = records_op_new(c, req->session_id, 1, f);
	if (!o)
		return NULL;
	o->one = *req;
	return &o->op;
}

static bool may_see(const struct conversation *c, const char *conversation)
{
	return c->id && streq(c->id, conversation);
}

struct journal_reader *manager_read_journal(struct manager *m, const struct journal_request *req, struct fail *f)
{
	struct registry *r = &m->registry;
	struct journal *j = req->session_id ? journals_find(r->journals, req->session_id) : NULL;
	if (req->session_id && !j)
		return cause_no_session(f, req->session_id), NULL;
	if (j && req->conversation &&
	    conversation_check(req->conversation, journal_conversation(j), req->session_id, f) < 0)
		return NULL;
	return journal_reader_new(&(struct reader_spec){
		.journals = r->journals, .journal = j, .may_see = req->conversation ? may_see : NULL, .request = req });
}

void manager_note_shown(struct conversation *c, const char *session, uint64_t run, const char *content)
{
	struct session_place place;
	struct journal *j =
		manager_find_session(c, session, &place) ? journals_find(c->registry->journals, place.id) : NULL;
	if (j && streq(place.conversation, journal_conversation(j)) && c->id && streq(place.conversation, c->id))
		journal_note_shown(j, run, content);
}
