/* A person's terminal in a session. Bytes pass in both directions until its program ends or the terminal is closed. */
#include "base/alloc.h"
#include "manager/line/console.h"
#include "manager/registry/claims.h"
#include "manager/registry/op.h"

struct terminal_op {
	struct op op;
	struct terminal_request request;
	struct strv command;
	struct strv env;
	char *term, *cwd;
	struct console console;
	struct buf early; /* typed before the session was ready */
	bool early_end;	  /* the input has ended */
	uint64_t started; /* wall clock, for the log; 0 = it was not opened */
	uint64_t out_bytes;
};

static struct terminal_op *terminal_op_of(struct op *op)
{
	return container_of(op, struct terminal_op, op);
}

static void log_end(struct terminal_op *o, const char *ending)
{
	if (o->started)
		log_terminal(o->op.entry, &(struct ended_run){ .number = o->console.call,
							       .program = o->request.is_run,
							       .started = o->started,
							       .out_bytes = o->out_bytes,
							       .ending = ending });
	o->started = 0;
}

static void on_bytes(struct console *c, const void *data, size_t n)
{
	struct terminal_op *o = container_of(c, struct terminal_op, console);
	o->out_bytes += n;
	o->request.on_bytes(o->request.ctx, data, n);
}

static void on_error_bytes(struct console *c, const void *data, size_t n)
{
	struct terminal_op *o = container_of(c, struct terminal_op, console);
	o->out_bytes += n;
	o->request.on_error_bytes(o->request.ctx, data, n);
}

static void on_typed(struct console *c, size_t n)
{
	struct terminal_op *o = container_of(c, struct terminal_op, console);
	o->request.on_written(o->request.ctx, n);
}

static void on_end(struct console *c, const struct wire_console_end *end, const struct fail *f)
{
	struct terminal_op *o = container_of(c, struct terminal_op, console);
	struct terminal_end how = { 0 };
	if (end)
		how = (struct terminal_end){ end->exit_code, end->signal, end->oom, end->detail };
	log_end(o, !end		  ? "interrupted" :
		   end->oom	  ? ending_name(ENDING_OOM) :
		   end->exit_code ? ending_name(ENDING_ERROR) :
				    ending_name(ENDING_OK));
	o->request.on_end(o->request.ctx, end ? &how : NULL, f);
	op_end(&o->op);
}

static int start(struct op *op, struct fail *f)
{
	struct terminal_op *o = terminal_op_of(op);
	struct wire_console wanted = {
		.command = &o->command,
		.pipes = o->request.on_error_bytes,
		.cwd = o->cwd,
		.env = &o->env,
		.term = o->term,
		.rows = o->request.rows,
		.cols = o->request.cols,
	};
	if (console_open(&o->console, session_dispatch(op->entry->session), &wanted, f) < 0)
		return -1;
	o->started = store_now_ms();
	log_terminal(op->entry, &(struct ended_run){ .number = o->console.call,
						     .program = o->request.is_run,
						     .started = o->started });
	(void)console_type(&o->console, o->early.data, o->early.len);
	buf_release(&o->early);
	if (o->early_end)
		console_end_input(&o->console);
	return 0;
}

int terminal_write(struct op *op, const void *data, size_t n)
{
	struct terminal_op *o = terminal_op_of(op);
	return o->console.dispatch ? console_type(&o->console, data, n) : buf_add(&o->early, data, n);
}

void terminal_end_input(struct op *op)
{
	struct terminal_op *o = terminal_op_of(op);
	o->early_end = true;
	console_end_input(&o->console);
}

void terminal_signal(struct op *op, int signo)
{
	console_signal(&terminal_op_of(op)->console, signo);
}

void terminal_taken(struct op *op, size_t n)
{
	console_taken(&terminal_op_of(op)->console, n);
}

void terminal_resize(struct op *op, int rows, int cols)
{
	struct terminal_op *o = terminal_op_of(op);
	o->request.rows = MIN(MAX(rows, 1), TERMINAL_SIDE_MAX);
	o->request.cols = MIN(MAX(cols, 1), TERMINAL_SIDE_MAX);
	console_resize(&o->console, o->request.rows, o->request.cols);
}

static void answer_fail(struct op *op, const struct fail *f)
{
	struct terminal_op *o = terminal_op_of(op);
	o->request.on_end(o->request.ctx, NULL, f);
}

static void cancel(struct op *op)
{
	log_end(terminal_op_of(op), ending_name(ENDING_INTERRUPTED));
}

static void terminal_op_free(struct op *op)
{
	struct terminal_op *o = terminal_op_of(op);
	console_close(&o->console);
	strv_release(&o->command);
	strv_release(&o->env);
	free(o->term);
	free(o->cwd);
	buf_release(&o->early);
	free(o);
}

struct op *manager_terminal(struct conversation *c, const struct terminal_request *req, struct fail *f)
{
	static const struct op_type type = {
		.start = start, .fail = answer_fail, .cancel = cancel, .free = terminal_op_free
	};
	struct terminal_op *o = new0(struct terminal_op);
	op_init(&o->op, c->registry, c, &type);
	o->request = *req;
	o->request.session_id = o->request.term = NULL;
	o->request.command = NULL;
	o->request.env = NULL;
	o->request.cwd = NULL;
	o->early.max = TERMINAL_WINDOW;
	o->term = req->term ? xstrdup(req->term) : NULL;
	o->cwd = req->cwd ? xstrdup(req->cwd) : NULL;
	env_copy(&o->env, req->env, req->n_env);
	for (size_t i = 0; i < req->n_command; i++)
		strv_add(&o->command, req->command[i]);
	o->console = (struct console){ .on_bytes = on_bytes,
				       .on_error_bytes = req->on_error_bytes ? on_error_bytes : NULL,
				       .on_typed = on_typed,
				       .on_end = on_end };
	terminal_resize(&o->op, req->rows, req->cols);
	return op_begin(&o->op, req->session_id, f);
}
