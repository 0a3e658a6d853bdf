/* A cell or a command. */
#include "base/alloc.h"
#include "base/utf8.h"
#include "manager/registry/claims.h"
#include "manager/registry/notice.h"
#include "manager/registry/op.h"

struct run_op {
	struct op op;
	struct run_request request;
	char *text; /* while it waits for its session */
	struct strv env;
	char *env_names, *cwd;
	struct op_run *run;
};

/* The run, which may outlive its op: then nobody hears of its end. */
struct op_run {
	struct run run; /* first: the line frees it as a whole */
	struct run_op *op;
	uint64_t started;      /* wall clock, for the log */
	struct buf partial[2]; /* an unfinished UTF-8 sequence at the end of a piece of output */
};

static struct run_op *run_op_of(struct op *op)
{
	return container_of(op, struct run_op, op);
}

static void release_partials(struct op_run *r)
{
	buf_release(&r->partial[0]);
	buf_release(&r->partial[1]);
}

static void on_end(struct run *run, struct run_result *result, const struct fail *f)
{
	struct op_run *r = container_of(run, struct op_run, run);
	struct run_op *o = r->op;
	struct member *m = o->op.member;
	const struct config *c = m->registry->config;
	if (result) {
		log_earlier_ended(m, result);
		if (session_state(m->session) == SESSION_READY)
			result->notice = notice_text(session_left_ms(m->session), c->max_lifetime, c->idle_ttl);
	}
	o->run = NULL;
	o->request.on_done(o->request.ctx, result, f);
	log_run_ended(m, run, r->started, result ? ending_name(result->ending) : "not_run",
		      result ? result->stdout_bytes + result->stderr_bytes : 0);
	release_partials(r);
	free(r);
	op_end(&o->op);
}

static void on_output(struct run *run, int stream, const void *data, size_t n)
{
	struct op_run *r = container_of(run, struct op_run, run);
	const struct run_request *request = &r->op->request;
	struct buf *partial = &r->partial[stream - 1];
	AUTO(buf_release) struct buf bytes = { 0 }, text = { 0 };
	buf_add(&bytes, partial->data, partial->len);
	buf_add(&bytes, data, n);
	size_t unfinished = utf8_partial_end(bytes.data, bytes.len);
	buf_reset(partial);
	buf_add(partial, bytes.data + bytes.len - unfinished, unfinished);
	utf8_clean(&text, bytes.data, bytes.len - unfinished);
	if (text.len)
		request->on_output(request->ctx, stream, buf_str(&text), text.len);
}

static int start_text(struct run_op *o, const char *text, struct fail *f)
{
	struct op_run *r = new0(struct op_run);
	r->op = o;
	r->run.kind = o->request.kind;
	r->run.timeout_seconds = o->request.timeout_seconds;
	r->run.on_end = on_end;
	r->run.on_output = o->request.on_output ? on_output : NULL;
	struct run_spec spec = { .text = text, .len = o->request.len, .env = &o->env, .cwd = o->cwd };
	if (run_start(&r->run, session_dispatch(o->op.member->session), &spec, f) < 0) {
		free(r);
		return -1;
	}
	o->run = r;
	r->started = store_now_ms();
	log_run_began(o->op.member, &r->run, r->started, o->request.len, o->env_names);
	strv_release(&o->env);
	return 0;
}

static int start(struct op *op, struct fail *f)
{
	struct run_op *o = run_op_of(op);
	return start_text(o, o->text ? o->text : o->request.text, f);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct run_op *o = run_op_of(op);
	o->request.on_done(o->request.ctx, NULL, f);
}

static void cancel(struct op *op)
{
	struct run_op *o = run_op_of(op);
	struct op_run *r = take_ptr(o->run);
	if (!r)
		return;
	log_run_ended(op->member, &r->run, r->started, "cancelled", 0);
	release_partials(r);
	run_abandon(&r->run);
}

static void run_op_free(struct op *op)
{
	struct run_op *o = run_op_of(op);
	if (o->run) {
		release_partials(o->run);
		run_forget(&o->run->run);
	}
	free(o->text);
	strv_release(&o->env);
	free(o->env_names);
	free(o->cwd);
	free(o);
}

struct op *manager_run(struct conversation *c, const struct run_request *req, struct fail *f)
{
	static const struct op_type type = {
		.start = start, .fail = answer_fail, .cancel = cancel, .free = run_op_free
	};
	if (env_check(req->env, req->n_env, f) < 0)
		return NULL;
	struct run_op *o = new0(struct run_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	env_copy(&o->env, req->env, req->n_env);
	o->env_names = env_names(req->env, req->n_env);
	o->cwd = req->cwd ? xstrdup(req->cwd) : NULL;
	struct op *op = op_begin(&o->op, req->session_id, f);
	if (!op)
		return NULL;
	/* Borrowed for this call only. */
	if (op->wanted)
		o->text = xstrndup(req->text, req->len);
	o->request.text = o->request.session_id = o->request.cwd = NULL;
	o->request.env = NULL;
	return op;
}
