/* The tools execute_code and execute_terminal, which differ only in what they run. */
#include "base/alloc.h"
#include "base/json.h"
#include "mcp/apps.h"
#include "mcp/inputs.h"
#include "mcp/result.h"
#include "mcp/tasks.h"
#include "mcp/tools.h"

#define TIMEOUT_MIN 1
#define TIMEOUT_MAX 300
#define TIMEOUT_WITH_WAIT_MAX 604800
#define WAIT_MAX 300

struct execute_args {
	const char *session_id;
	const char *text;
	int64_t timeout;
	int64_t wait, run; /* -1, 0 = not given */
	bool interrupt, restart, interactive;
	const char *input; /* NULL = not given */
	int64_t rows, cols;
	json_t *env;
	const char *cwd, *branch;
};

#define ARG_SESSION                                                                                                    \
	{                                                                                                              \
		"session_id", ARG_STRING, offsetof(struct execute_args, session_id), ARG_REQUIRED | ARG_NONEMPTY,      \
			.max = 128, .description = "As create_session returned it.",                                   \
			.example = "\"kq3v…\" (the session_id that create_session returned)"                         \
	}
#define WAIT_TEXT "Seconds until the call answers. A longer run continues, and the answer has its number."
#define ARG_TIMEOUT                                                                                                    \
	{                                                                                                              \
		"timeout", ARG_INT, offsetof(struct execute_args, timeout), ARG_ABSENT,                                \
			.min = TIMEOUT_MIN, .max = TIMEOUT_WITH_WAIT_MAX, .example = "60"                              \
	}
#define ARG_WAIT                                                                                                       \
	{                                                                                                              \
		"wait", ARG_INT, offsetof(struct execute_args, wait), ARG_ABSENT,                                      \
			.min = 0, .max = WAIT_MAX, .description = WAIT_TEXT, .example = "20"                           \
	}
#define ARG_RUN(text)                                                                                                  \
	{                                                                                                              \
		"run", ARG_INT, offsetof(struct execute_args, run), ARG_ABSENT, .min = 1, .max = UINT32_MAX,           \
										.description = text, .example = "7"    \
	}
#define ARG_INTERRUPT                                                                                                  \
	{                                                                                                              \
		"interrupt", ARG_BOOL, offsetof(struct execute_args, interrupt), ARG_ABSENT,                           \
			.description = "With `run`: end it.", .example = "true"                                        \
	}

#define ARG_INTERACTIVE(text)                                                                                          \
	{                                                                                                              \
		"interactive", ARG_BOOL, offsetof(struct execute_args, interactive), ARG_ABSENT, .description = text,  \
												 .example = "true"     \
	}
#define ARG_INPUT(text)                                                                                                \
	{                                                                                                              \
		"input", ARG_STRING, offsetof(struct execute_args, input), ARG_ABSENT, .description = text,            \
										       .example = "\"yes\""            \
	}
#define ARG_SIZE(name, most)                                                                                           \
	{                                                                                                              \
#name, ARG_INT, offsetof(struct execute_args, name), ARG_ABSENT, .min = 1, .max = most,                \
										 .example = "40"                       \
	}

#define ENV_TEXT "Environment variables for this call only; those read at startup belong in create_session."
#define ARG_ENV                                                                                                        \
	{                                                                                                              \
		"env", ARG_TEXTS, offsetof(struct execute_args, env), .description = ENV_TEXT,                         \
								      .example = "{\"API_KEY\": \"…\"}"              \
	}

static const struct arg code_table[] = {
	ARG_SESSION,
	{ "code", ARG_STRING, offsetof(struct execute_args, text), ARG_NONEMPTY | ARG_BLANK,
	  .description = "The complete code of the cell.", .example = "\"x = 41\\nx + 1\"" },
	ARG_TIMEOUT,
	ARG_WAIT,
	ARG_RUN("Instead of code: wait for this run; returns its new output."),
	ARG_INTERRUPT,
	ARG_INTERACTIVE("The cell may ask for input."),
	ARG_INPUT("With `run`: the answer; <Ctrl-D> = end of input."),
	ARG_ENV,
	{ "branch", ARG_STRING, offsetof(struct execute_args, branch), ARG_NONEMPTY, .max = 64,
	  .description = "Run in this branch (see checkpoint).", .example = "\"fill_gaps\"" },
	{ "restart", ARG_BOOL, offsetof(struct execute_args, restart), ARG_ABSENT,
	  .description = "Start a new interpreter first. Variables are lost, files kept.", .example = "true" },
	{ 0 },
};

static const struct arg terminal_table[] = {
	ARG_SESSION,
	{ "command", ARG_STRING, offsetof(struct execute_args, text), ARG_NONEMPTY | ARG_BLANK,
	  .description = "The bash command or script.", .example = "\"ls -la /workspace\"" },
	ARG_TIMEOUT,
	ARG_WAIT,
	ARG_RUN("Instead of a command: wait for this run; returns its new output."),
	ARG_INTERRUPT,
	ARG_INTERACTIVE("Give the command a terminal."),
	ARG_SIZE(rows, RUN_ROWS_MAX),
	ARG_SIZE(cols, RUN_COLS_MAX),
	ARG_INPUT(
		"With `run`: what to type. Keys: <Ctrl-C>, <Up>, <Tab>, <Esc>. Enter is added, except after a key or <NoEnter>."),
	ARG_ENV,
	{ "cwd", ARG_STRING, offsetof(struct execute_args, cwd), ARG_NONEMPTY, .max = 4095,
	  .description = "Directory for this call only.", .example = "\"/workspace/project\"" },
	{ 0 },
};

static void execute_defaults(void *args, const struct tool_env *env)
{
	struct execute_args *a = args;
	uint64_t seconds = env->config->execution_timeout;
	a->wait = -1;
	a->timeout = (int64_t)MAX(TIMEOUT_MIN, MIN(seconds, (uint64_t)TIMEOUT_MAX));
}

/* The default is only in the description, not in the schema's own field for it, because it applies only without `wait`,
 * and clients fill in defaults from that field. */
static void execute_extend(json_t *properties, const struct tool_env *env)
{
	struct execute_args defaults = { 0 };
	execute_defaults(&defaults, env);
	AUTO(freep) char *text = xasprintf(
		"Seconds until the run is interrupted: default %lld, at most %d; with `wait` more, by default the session's lifetime.",
		(long long)defaults.timeout, TIMEOUT_MAX);
	json_object_set_new(json_object_get(properties, "timeout"), "description", json_string(text));
}

static char *code_describe(const struct tool_env *env)
{
	return xasprintf(
		"Run code in the session's interpreter, like a notebook cell. Variables and imports persist between "
		"calls, so build on earlier cells instead of repeating them.\n"
		"Returned in order: what was printed, stderr, displays, the last value, a traceback; figures as images, "
		"the last %d of an answer. Labels in ⟦ ⟧ come from Husk. Top-level await works. input() fails unless "
		"`interactive`: then the answer is ⟦waiting for input⟧, and {run: 7, input: \"yes\"} answers it.\n"
		"Slow work: {code: \"train()\", wait: 20} answers after at most 20 s, with ⟦running⟧ and a run number if "
		"it has not ended; {run: 7, wait: 60} returns new output, at once when it ends; {run: 7, interrupt: true} "
		"ends it. Never sleep to wait. Cells run one after the other; execute_terminal works beside them.\n"
		"Long output is cut in the middle (%llu characters are shown; all of it is in ~/.husk/runs): print "
		"summaries. After a restart of the interpreter, the answer says which variables are left.",
		PICTURES_MAX, (unsigned long long)env->config->max_answer_chars);
}

static char *terminal_describe(const struct tool_env *env)
{
	return xasprintf(
		"Run a bash command in the session's container: files, packages (pip install NAME, if the session has the "
		"network), git, builds, background services. It starts in /workspace; the working directory and exported "
		"variables persist between calls. Files are shared with execute_code.\n"
		"Returned: stdout, stderr and the exit code. Input is closed (use -y) unless `interactive`. A timeout "
		"kills the command's processes. Slow commands: `wait`, `run` and `interrupt` as with execute_code; "
		"while one is ⟦running⟧, the next runs beside it (%d at most). Services: `command > log.txt 2>&1 &`; background processes stay alive.\n"
		"Not root: no apt; the system is read-only outside /workspace, /tmp and the home directory. free and "
		"nproc show this session's limits; top and /proc the host's.",
		RUNS_ASIDE_MAX);
}

static enum run_kind kind_of(const struct call *call)
{
	return call->tool == &tool_execute_terminal ? RUN_TERMINAL : RUN_CODE;
}

static struct run_context context_of(const struct tool_env *env, const char *session_id, enum run_kind kind,
				     int64_t timeout)
{
	return (struct run_context){
		.session_id = session_id,
		.terminal = kind == RUN_TERMINAL,
		.timeout_seconds = (uint64_t)timeout,
		.structured = env->config->structured_content,
		.interleaved = env->config->content == CONTENT_INTERLEAVED,
		.max_chars = env->config->max_answer_chars,
	};
}

static void execute_output(void *ctx, int stream, const char *text, size_t n)
{
	call_output(ctx, text, n);
}

/* --- prompts that the client's user answers (PROMPTS_ANSWERED_BY) ------------------------------------------------------ */

#define INPUT_KEY "input"

/* The state of a request whose run waits for input: {run, session_id, content, declined}. `content` is the output of
 * the run so far. Between prompts the state is the request's data. */
static void state_free(void *data)
{
	json_decref(data);
}

/* Output of the run before its last prompt; NULL if there was none. The caller owns it. */
static json_t *take_before(struct call *call)
{
	json_t *state = call->data;
	json_t *content = json_incref(json_object_get(state, "content"));
	json_decref(state);
	call->data = NULL;
	call->data_free = NULL;
	return content;
}

/* Puts this content before that of the result (taken). */
static json_t *put_before(json_t *before, json_t *result)
{
	if (before) {
		json_t *content = json_copy(before);
		json_array_extend(content, json_object_get(result, "content"));
		json_object_set_new(result, "content", content);
	}
	return result;
}

/* True if the client's user answers the prompt, which must have a text. A form must not ask for secrets, so the model
 * gets password prompts. */
static bool user_answers(const struct call *call, const struct run_result *result)
{
	const struct tool_env *env = call_env(call);
	return result->ending == ENDING_WAITING && result->prompt && *result->prompt && !result->password &&
	       env->config->prompts == PROMPTS_USER && env->connection && inputs_supported(call, "elicitation") &&
	       !json_object_get(call->data, "declined");
}

static json_t *form_of(const struct run_result *result, const char *session_id)
{
	json_auto_t *prompt = json_shown(result->prompt);
	return json_pack("{s:{s:s, s:{s:o, s:{s:s, s:{s:{s:s, s:o}}, s:[s]}}}}", INPUT_KEY, "method",
			 "elicitation/create", "params", "message",
			 json_sprintf("A program in session %s (run %llu) asks: %s", session_id,
				      (unsigned long long)result->run, json_string_value(prompt)),
			 "requestedSchema", "type", "object", "properties", INPUT_KEY, "type", "string", "title",
			 json_incref(prompt), "required", INPUT_KEY);
}

static struct op *execute_resume(struct call *call, json_t *state, const json_t *answers, struct fail *f);

/* Called in legacy eras, where the same request continues. */
static void on_user(struct call *call, json_t *state, const json_t *answers)
{
	const struct execute_args *args = call->decoded;
	AUTO(fail_release) struct fail f = { 0 };
	call->op = execute_resume(call, state, answers, &f);
	if (!call->op)
		tools_fail(call, args->session_id, &f);
}

static void prompt_user(struct call *call, const struct run_result *result, struct run_context *context)
{
	const struct execute_args *args = call->decoded;
	context->user_answers = true;
	json_auto_t *before = take_before(call);
	json_auto_t *shown = put_before(before, result_of_run(result, context));
	json_t *state = json_pack("{s:s, s:I, s:O}", "session_id", args->session_id, "run", (json_int_t)result->run,
				  "content", json_object_get(shown, "content"));
	inputs_request(call_env(call)->connection, call, form_of(result, args->session_id), state, on_user);
}

/* Keeps what the model sees of a run, for people. */
static void note_shown(const struct call *call, uint64_t run, const char *content)
{
	const struct execute_args *args = call->decoded;
	if (run && content)
		manager_note_shown(call_env(call)->conversation, args->session_id, run, content);
}

static void execute_done(void *ctx, const struct run_result *result, const struct fail *f)
{
	struct call *call = ctx;
	const struct execute_args *args = call->decoded;
	call->op = NULL;
	if (!result) {
		tools_fail(call, args->session_id, f);
		return;
	}
	struct run_context context = context_of(call_env(call), args->session_id, kind_of(call), args->timeout);
	context.structured &= call->revision->structured;
	context.app = apps_known(call_env(call)->app, call);
	if (user_answers(call, result)) {
		prompt_user(call, result, &context);
		return;
	}
	json_auto_t *before = take_before(call);
	json_t *shown = put_before(before, result_of_run(result, &context));
	AUTO(freep) char *content = result_shown(shown);
	note_shown(call, result->run, content);
	call_reply(call, shown);
}

/* A result that would block the loop for too long. A worker builds its text, pictures and fields. */
struct wording {
	struct run_result result;
	struct run_context context;
	char *session_id;
	json_t *before; /* see take_before() */
	char *shown;	/* result_shown() */
};

static json_t *word(void *ctx)
{
	struct wording *w = ctx;
	json_t *result = put_before(w->before, result_of_run(&w->result, &w->context));
	w->shown = result_shown(result);
	return result;
}

static void worded(struct call *call, void *ctx)
{
	const struct wording *w = ctx;
	note_shown(call, w->result.run, w->shown);
}

static void wording_release(void *ctx)
{
	struct wording *w = ctx;
	run_result_release(&w->result);
	json_decref(w->before);
	free(w->session_id);
	free(w->shown);
	free(w);
}

static void execute_heavy(void *ctx, struct run_result *result)
{
	struct call *call = ctx;
	const struct execute_args *args = call->decoded;
	struct wording *w = new0(struct wording);
	call->op = NULL;
	w->session_id = xstrdup(args->session_id);
	w->context = context_of(call_env(call), w->session_id, kind_of(call), args->timeout);
	w->context.structured &= call->revision->structured;
	w->context.app = apps_known(call_env(call)->app, call);
	w->before = take_before(call);
	w->result = *result;
	*result = (struct run_result){ 0 };
	call_reply_later(
		call, call_env(call)->loop,
		&(struct call_work){
			.make = word, .made = worded, .release = wording_release, .ctx = w, .session = w->session_id });
}

/* Called when the run has become a task: it continues, and the client gets its result from the task. */
static void execute_task(void *ctx, const struct task_info *task)
{
	struct call *call = ctx;
	call->op = NULL;
	tasks_reply_handle(call, task_describe(task));
}

json_t *tools_word_task(const struct tool_env *env, const struct task_info *task, const struct run_result *result,
			const struct fail *f)
{
	struct run_context context = context_of(env, task->session_id, task->kind, (int64_t)task->timeout_seconds);
	if (result)
		return result_of_run(result, &context);
	return result_of_fail(f, &(struct fail_context){ .session_id = task->session_id,
							 .fields_in_meta = true,
							 .structured = context.structured,
							 .remote = env->remote });
}

static bool is_given(const struct call *call, const char *name)
{
	const json_t *value = json_object_get(call->args, name);
	return value && !json_is_null(value);
}

static int check_input(const struct call *call, const struct execute_args *args, struct fail *f)
{
	static const char *const of_a_terminal[] = { "rows", "cols" };
	if (args->input && !args->run)
		return fail_set(f, FAIL_INVALID, "input needs run: the number of the run that it answers");
	if (args->input && args->interrupt)
		return fail_set(f, FAIL_INVALID, "input and interrupt exclude each other: answer the run, or end it");
	if (args->input && strlen(args->input) > RUN_INPUT_MAX)
		return fail_set(f, FAIL_INVALID, "input is too long (%zu bytes, at most %u)", strlen(args->input),
				RUN_INPUT_MAX);
	for (size_t i = 0; !args->run && !args->interactive && i < ARRAY_LEN(of_a_terminal); i++)
		if (is_given(call, of_a_terminal[i]))
			return fail_set(f, FAIL_INVALID, "%s needs interactive, which opens a terminal",
					of_a_terminal[i]);
	return 0;
}

/* Rejects contradictory arguments. */
static int check(const struct call *call, const struct execute_args *args, struct fail *f)
{
	const char *what = call->tool == &tool_execute_terminal ? "command" : "code";
	static const char *const of_a_new_run[] = { "timeout", "env",	      "cwd",  "branch",
						    "restart", "interactive", "rows", "cols" };
	if (!args->text && !args->run && !args->restart)
		return fail_set(f, FAIL_INVALID, "%s is required: a non-empty string (or `run`, for an existing run)",
				what);
	if (args->text && args->run)
		return fail_set(f, FAIL_INVALID,
				"%s and run exclude each other: use %s for a new run, or run for an existing one", what,
				what);
	if (args->interrupt && !args->run)
		return fail_set(f, FAIL_INVALID, "interrupt needs run: the number of the run that it ends");
	if (check_input(call, args, f) < 0)
		return -1;
	for (size_t i = 0; args->run && i < ARRAY_LEN(of_a_new_run); i++)
		if (is_given(call, of_a_new_run[i]))
			return fail_set(f, FAIL_INVALID,
					"%s applies only to a new run, and run %lld has started; use wait",
					of_a_new_run[i], (long long)args->run);
	if (args->wait < 0 && !args->interactive && args->timeout > TIMEOUT_MAX)
		return fail_set(
			f, FAIL_INVALID,
			"timeout must be an integer from %d to %d, e.g. 60; got %lld. With `wait` it may be longer",
			TIMEOUT_MIN, TIMEOUT_MAX, (long long)args->timeout);
	return 0;
}

/* Without `wait`, a request for an existing run waits as long as a new run may take by default. */
static uint64_t wait_of(const struct call *call, const struct execute_args *args)
{
	return args->wait >= 0 ? (uint64_t)args->wait : call_env(call)->config->execution_timeout;
}

static struct op *execute_start(struct call *call, const void *data, struct fail *f)
{
	const struct execute_args *args = data;
	if (check(call, args, f) < 0)
		return NULL;
	size_t n_env;
	AUTO(freep) struct env_var *env = tools_env(args->env, &n_env);
	bool waits = args->wait >= 0 || args->interactive;
	return manager_run(call_env(call)->conversation,
			   &(struct run_request){
				   .kind = kind_of(call),
				   .by = "mcp",
				   .session_id = args->session_id,
				   .text = args->text	 ? args->text :
					   args->restart ? "" :
							   NULL,
				   .len = args->text ? strlen(args->text) : 0,
				   .run = (uint64_t)args->run,
				   .interrupt = args->interrupt,
				   .branch = args->branch,
				   .restart = args->restart,
				   .input = args->input,
				   .input_len = args->input ? strlen(args->input) : 0,
				   .interactive = args->interactive,
				   .rows = (int)args->rows,
				   .cols = (int)args->cols,
				   .has_wait = waits || args->run,
				   .wait_seconds = wait_of(call, args),
				   .timeout_seconds = waits && !is_given(call, "timeout") ? 0 : (uint64_t)args->timeout,
				   .env = env,
				   .n_env = n_env,
				   .cwd = args->cwd,
				   .on_task = call->knows_tasks && !waits && !args->run ? execute_task : NULL,
				   .task_after_seconds = call_env(call)->config->task_after,
				   .on_output = execute_output,
				   .on_done = execute_done,
				   .on_heavy = execute_heavy,
				   .ctx = call,
			   },
			   f);
}

/* Continues the run with the input. Without input the run still waits, and the answer says so. */
static struct op *execute_resume(struct call *call, json_t *state, const json_t *answers, struct fail *f)
{
	const struct execute_args *args = call->decoded;
	const char *session_id = json_string_value(json_object_get(state, "session_id"));
	const json_t *text = json_object_get(inputs_form(answers, INPUT_KEY), INPUT_KEY);
	bool usable = json_is_string(text) && json_string_length(text) <= RUN_INPUT_MAX;
	if (!session_id || !streq(session_id, args->session_id)) {
		fail_set(f, FAIL_INVALID, "requestState belongs to another session");
		return NULL;
	}
	if (!usable)
		json_object_set_new(state, "declined", json_true());
	call->data = json_incref(state);
	call->data_free = state_free;
	return manager_run(call_env(call)->conversation,
			   &(struct run_request){
				   .kind = kind_of(call),
				   .by = "mcp",
				   .session_id = args->session_id,
				   .run = (uint64_t)json_integer_value(json_object_get(state, "run")),
				   .input = usable ? json_string_value(text) : NULL,
				   .input_len = usable ? json_string_length(text) : 0,
				   .has_wait = true,
				   .wait_seconds = usable ? wait_of(call, args) : 0,
				   .on_output = execute_output,
				   .on_done = execute_done,
				   .on_heavy = execute_heavy,
				   .ctx = call,
			   },
			   f);
}

const struct tool tool_execute_code = {
	.name = "execute_code",
	.scope = SCOPE_RUN,
	.title = "Run code in a session",
	.open_world = true,
	.fields_in_meta = true,
	.has_output = true,
	.describe = code_describe,
	.args = code_table,
	.args_size = sizeof(struct execute_args),
	.args_init = execute_defaults,
	.extend = execute_extend,
	.start = execute_start,
	.resume = execute_resume,
};

const struct tool tool_execute_terminal = {
	.name = "execute_terminal",
	.scope = SCOPE_RUN,
	.title = "Run a shell command in a session",
	.open_world = true,
	.fields_in_meta = true,
	.has_output = true,
	.describe = terminal_describe,
	.args = terminal_table,
	.args_size = sizeof(struct execute_args),
	.args_init = execute_defaults,
	.extend = execute_extend,
	.start = execute_start,
	.resume = execute_resume,
};
