/* Reports the state of a session: its runs, limits, remaining time and variables. */
#include "base/alloc.h"
#include "manager/line/run.h"
#include "manager/line/status.h"
#include "manager/model/usage.h"
#include "manager/registry/claims.h"
#include "manager/registry/op.h"
#include "manager/registry/session-entry.h"

struct info_op {
	struct op op;
	struct info_request request;
	struct status_waiter waiter;
	char *labels;
	struct store_job *job;
};

static struct info_op *info_op_of(struct op *op)
{
	return container_of(op, struct info_op, op);
}

static struct run_info *list_runs(const struct dispatch *d, size_t *ret_n)
{
	AUTO(freep) struct run_state *states = runs_list(d, ret_n);
	struct run_info *runs = xcalloc(*ret_n + 1, sizeof(*runs));
	for (size_t i = 0; i < *ret_n; i++)
		runs[i] = (struct run_info){ .number = states[i].number,
					     .kind = states[i].kind,
					     .state = states[i].ended		? "ended" :
						      states[i].waits_for_input ? "waiting" :
						      states[i].begun		? "running" :
										  "queued",
					     .age_ms = states[i].age_ms };
	return runs;
}

static void answer(struct info_op *o, const struct session_status *status)
{
	const struct session_entry *entry = o->op.entry;
	uint64_t left = session_left_ms(entry->session), idle = session_idle_ms(entry->session) / 1000,
		 ttl = entry->registry->config->idle_ttl;
	struct session_details details = { .session = session_entry_info(entry),
					   .left_seconds = left == UINT64_MAX ? left : left / 1000,
					   .idle_left_seconds = ttl - MIN(idle, ttl),
					   .status = status };
	AUTO(freep) struct run_info *runs = list_runs(session_dispatch(entry->session), &details.n_runs);
	details.runs = runs;
	details.usage = entry->usage;
	details.session.dependencies = entry->versions;
	o->request.on_done(o->request.ctx, &details, NULL);
}

static void keep_sample(struct session_entry *entry, const struct session_status *status)
{
	if (!status->answered || !status->memory)
		return;
	if (!entry->usage)
		entry->usage = new0(struct usage);
	usage_add(entry->usage, &(struct usage_sample){ store_now_ms(), status->memory, status->cpu_us });
}

static void on_status(struct status_waiter *w, const struct session_status *status)
{
	struct info_op *o = container_of(w, struct info_op, waiter);
	AUTO(fail_release) struct fail f = { 0 };
	/* The session may have ended meanwhile. */
	if (session_entry_check(o->op.entry, &f) < 0)
		o->request.on_done(o->request.ctx, NULL, &f);
	else {
		keep_sample(o->op.entry, status);
		answer(o, status);
	}
	op_end(&o->op);
}

static void on_labelled(void *ctx, const struct fail *f)
{
	struct info_op *o = ctx;
	o->job = NULL;
	if (f) {
		op_fail(&o->op, f);
		return;
	}
	o->waiter.on_status = on_status;
	status_start(&o->waiter, session_dispatch(o->op.entry->session));
}

static int start(struct op *op, struct fail *f UNUSED)
{
	struct info_op *o = info_op_of(op);
	struct dispatch *d = session_dispatch(op->entry->session);
	if (o->request.keep_alive)
		d->used_ms = loop_now_ms();
	if (o->labels) {
		free(op->entry->labels);
		op->entry->labels = take_ptr(o->labels);
		o->job = claim_running(op->entry, on_labelled, o);
		return 0;
	}
	o->waiter.on_status = on_status;
	status_start(&o->waiter, d);
	return 0;
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct info_op *o = info_op_of(op);
	o->request.on_done(o->request.ctx, NULL, f);
}

static void info_op_free(struct op *op)
{
	struct info_op *o = info_op_of(op);
	status_stop(&o->waiter);
	store_cancel(o->job);
	free(o->labels);
	free(o);
}

struct op *manager_info(struct conversation *c, const struct info_request *req, struct fail *f)
{
	static const struct op_type type = { .start = start, .fail = answer_fail, .free = info_op_free };
	struct info_op *o = new0(struct info_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.session_id = o->request.labels = NULL;
	o->labels = req->labels ? xstrdup(req->labels) : NULL;
	return op_begin(&o->op, req->session_id, f);
}
