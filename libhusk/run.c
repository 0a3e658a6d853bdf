/* Runs: code and commands. */
#include "base/utf8.h"
#include "libhusk/call.h"
#include "libhusk/env.h"
#include "libhusk/take.h"

#define TIMEOUT_MAX 300
/* Maximum timeout in seconds of a run with .has_wait. */
#define TIMEOUT_LONG_MAX 604800
#define WAIT_MAX 300

struct run_call {
	struct call call;
	struct husk_run options;
	struct run_request request;
	struct husk_result *result;
};

static void on_output(void *ctx, int stream, const char *text, size_t n)
{
	struct run_call *c = ctx;
	call_text(&c->call, stream, text, n);
}

static void pass_output(struct call *call, int stream, const char *text, size_t n)
{
	const struct husk_run *options = &container_of(call, struct run_call, call)->options;
	options->on_output(options->ctx, stream, text, n);
}

static void on_ran(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct run_call *c = ctx;
	if (result)
		c->result = take_result(result);
	call_finish(&c->call, result ? NULL : f);
}

static struct op *start_run(struct call *call, struct fail *f)
{
	return manager_run(call->conversation->conversation, &container_of(call, struct run_call, call)->request, f);
}

/* Rejects contradictory options. */
static struct husk_error *check(const char *function, enum run_kind kind, const struct husk_run *o, const char *text)
{
	uint64_t longest = o->has_wait || o->interactive ? TIMEOUT_LONG_MAX : TIMEOUT_MAX;
	if (!text && !o->run && !o->restart)
		return error_missing(function, kind == RUN_CODE ? "the code" : "the command");
	if (text && o->run)
		return error_misuse("%s(): an existing run already has its code: pass the code or .run, not both",
				    function);
	if (o->interrupt && !o->run)
		return error_misuse("%s(): .interrupt needs .run", function);
	if (o->run && (o->timeout || o->env || o->cwd || o->restart || o->interactive))
		return error_misuse("%s(): .timeout, .env, .cwd, .restart and .interactive apply only to a new run",
				    function);
	if (o->input && (!o->run || o->interrupt))
		return error_misuse("%s(): .input needs .run, and cannot be used with .interrupt", function);
	if (o->input && (strlen(o->input) > RUN_INPUT_MAX || !utf8_valid(o->input, strlen(o->input))))
		return error_misuse("%s(): .input must be UTF-8, at most %u bytes", function, RUN_INPUT_MAX);
	if (o->rows < 0 || o->rows > RUN_ROWS_MAX || o->cols < 0 || o->cols > RUN_COLS_MAX)
		return error_misuse("%s(): a terminal has at most %d rows and %d columns", function, RUN_ROWS_MAX,
				    RUN_COLS_MAX);
	if (text && !utf8_valid(text, strlen(text)))
		return error_misuse("%s(): the text is not valid UTF-8", function);
	if (o->timeout > longest)
		return error_misuse("%s(): .timeout must be 1 to %llu seconds, or 0", function,
				    (unsigned long long)longest);
	if (o->has_wait && o->wait_seconds > WAIT_MAX)
		return error_misuse("%s(): .wait_seconds must be 0 to %d", function, WAIT_MAX);
	if (o->cwd && kind == RUN_CODE)
		return error_misuse("%s(): .cwd is for commands", function);
	if (o->branch && (kind != RUN_CODE || o->run || o->restart))
		return error_misuse("%s(): .branch is for new code without .restart", function);
	if (o->restart && kind != RUN_CODE)
		return error_misuse("%s(): .restart is for code", function);
	return NULL;
}

static struct husk_error *run(const char *function, enum run_kind kind, const struct husk_run *options,
			      struct run_request request, struct husk_conversation *conversation,
			      const struct husk_wait *wait, struct husk_result **ret)
{
	struct run_call c = { .call.start = start_run };
	struct husk_run *o = &c.options;
	AUTO(env_release) struct env_list env = { 0 };
	if (!ret)
		return error_missing(function, "ret");
	if (!request.session_id)
		return error_missing(function, "the session's id");
	struct husk_error *error = HANDLE_TAKE(function, struct husk_run, options, o);
	if (error || (error = check(function, kind, o, request.text)))
		return error;
	if ((error = env_take(&env, function, o->env)))
		return error;
	if (!request.text && !o->run)
		request.text = "";
	request.len = request.text ? strlen(request.text) : 0;
	struct husk *held = handle_hold_conversation(conversation, function, &error);
	if (!held)
		return error;
	c.call.on_text = o->on_output ? pass_output : NULL;
	c.request = request;
	c.request.kind = kind;
	c.request.by = "libhusk";
	c.request.env = env.v;
	c.request.n_env = env.n;
	c.request.cwd = o->cwd;
	bool waits = o->has_wait || o->interactive;
	c.request.timeout_seconds = o->timeout || waits ? o->timeout : held->config.execution_timeout;
	c.request.has_wait = waits || o->run;
	c.request.wait_seconds = o->has_wait ? o->wait_seconds : held->config.execution_timeout;
	c.request.run = o->run;
	c.request.interrupt = o->interrupt;
	c.request.branch = o->branch;
	c.request.restart = o->restart;
	c.request.interactive = o->interactive;
	c.request.rows = o->rows;
	c.request.cols = o->cols;
	c.request.input = o->input;
	c.request.input_len = o->input ? strlen(o->input) : 0;
	c.request.on_output = o->on_output ? on_output : NULL;
	c.request.on_done = on_ran;
	c.request.ctx = &c;
	error = call_perform(&c.call, &(struct call_target){ function, NULL, conversation, wait });
	handle_let_go(held);
	if (!error)
		*ret = c.result;
	else
		husk_result_free(c.result);
	return error;
}

struct husk_error *husk_execute(struct husk_conversation *c, const char *session, const char *code,
				const struct husk_run *options, const struct husk_wait *wait, struct husk_result **ret)
{
	return run("husk_execute", RUN_CODE, options, (struct run_request){ .session_id = session, .text = code }, c,
		   wait, ret);
}

struct husk_error *husk_terminal(struct husk_conversation *c, const char *session, const char *command,
				 const struct husk_run *options, const struct husk_wait *wait, struct husk_result **ret)
{
	return run("husk_terminal", RUN_TERMINAL, options,
		   (struct run_request){ .session_id = session, .text = command }, c, wait, ret);
}
