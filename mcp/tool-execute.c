/* execute_code and execute_terminal: the same call except for what is run. */
#include "base/alloc.h"
#include "mcp/env-arg.h"
#include "mcp/result.h"
#include "mcp/tools.h"

#define TIMEOUT_MIN 1
#define TIMEOUT_MAX 300

struct execute_args {
	const char *session_id;
	const char *text;
	int64_t timeout;
	json_t *env;
	const char *cwd;
};

#define ARG_SESSION                                                                                                    \
	{                                                                                                              \
		"session_id", ARG_STRING, offsetof(struct execute_args, session_id), ARG_REQUIRED | ARG_NONEMPTY,      \
			.max = 128, .description = "The session to run in, as create_session returned it.",            \
			.example = "\"kq3v…\" (the session_id that create_session returned)"                         \
	}
#define ARG_TIMEOUT                                                                                                    \
	{                                                                                                              \
		"timeout", ARG_INT, offsetof(struct execute_args, timeout),                                            \
			.min = TIMEOUT_MIN, .max = TIMEOUT_MAX,                                                        \
			.description = "Seconds until the run is interrupted.", .example = "60"                        \
	}

#define ENV_TEXT                                                                                                       \
	"Environment variables for this call alone; values are kept nowhere. What programs read only at their start "  \
	"(LD_*, NODE_OPTIONS) belongs into create_session's env."
#define ARG_ENV                                                                                                        \
	{                                                                                                              \
		"env", ARG_TEXTS, offsetof(struct execute_args, env), .description = ENV_TEXT,                         \
								      .example = "{\"API_KEY\": \"…\"}"              \
	}

static const struct arg code_table[] = {
	ARG_SESSION,
	{ "code", ARG_STRING, offsetof(struct execute_args, text), ARG_REQUIRED | ARG_NONEMPTY | ARG_BLANK,
	  .description = "The complete code of the cell.", .example = "\"x = 41\\nx + 1\"" },
	ARG_TIMEOUT,
	ARG_ENV,
	{ 0 },
};

static const struct arg terminal_table[] = {
	ARG_SESSION,
	{ "command", ARG_STRING, offsetof(struct execute_args, text), ARG_REQUIRED | ARG_NONEMPTY | ARG_BLANK,
	  .description = "The bash command or script.", .example = "\"ls -la /workspace\"" },
	ARG_TIMEOUT,
	ARG_ENV,
	{ "cwd", ARG_STRING, offsetof(struct execute_args, cwd), ARG_NONEMPTY, .max = 4095,
	  .description = "Directory for this call alone.", .example = "\"/workspace/project\"" },
	{ 0 },
};

static void execute_defaults(void *args, const struct tool_env *env)
{
	struct execute_args *a = args;
	uint64_t seconds = env->config->execution_timeout;
	a->timeout = (int64_t)MAX(TIMEOUT_MIN, MIN(seconds, (uint64_t)TIMEOUT_MAX));
}

static char *code_describe(const struct tool_env *env)
{
	return xasprintf(
		"Run code in the session's interpreter, like a notebook cell. Variables, imports, functions and open objects "
		"persist between calls, so build on earlier cells instead of repeating them. Always send the complete code.\n"
		"Returned: what was printed, the value of the last expression (as text), errors with their traceback, and figures "
		"as images (matplotlib figures without saving them; prefer that to files), at most %d in an answer. Top-level await works. The working "
		"directory is /workspace. Input is closed: input() fails at once.\n"
		"Timeout: default %llu s, at most %d. A cell that takes longer is interrupted; variables and what it printed so "
		"far are kept. Long output is cut in the middle (%llu characters are shown): print summaries, not whole data sets. Cells of one session run one after the other.\n"
		"If the interpreter had to be restarted, the answer says so: its variables are gone, files are kept.",
		PICTURES_MAX, (unsigned long long)env->config->execution_timeout, TIMEOUT_MAX,
		(unsigned long long)env->config->max_answer_chars);
}

static char *terminal_describe(const struct tool_env *env)
{
	return xasprintf(
		"Run a bash command in the session's container: files, packages (pip install NAME, if the session has the network), "
		"git, builds, background services. It starts in /workspace; the working directory and exported variables persist "
		"between calls. Files are shared with execute_code, interpreter variables are not.\n"
		"Returned: stdout, stderr and the exit code. Input is closed, so use non-interactive flags (-y). Timeout: default "
		"%llu s, at most %d; then the command's processes are killed and what they printed so far is returned. For "
		"something that must keep running use `command > log.txt 2>&1 &`: background processes stay alive and are not "
		"waited for. Runs beside cells of execute_code; commands of one session run one after the other.\n"
		"Not root: no apt; the system is read-only outside /workspace, /tmp and the home directory.",
		(unsigned long long)env->config->execution_timeout, TIMEOUT_MAX);
}

static void execute_output(void *ctx, int stream, const char *text, size_t n)
{
	call_output(ctx, text, n);
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
	bool terminal = call->tool == &tool_execute_terminal;
	struct run_context context = {
		.session_id = args->session_id,
		.terminal = terminal,
		.timeout_seconds = (uint64_t)args->timeout,
		.structured = call->revision->structured && call_env(call)->config->structured_content,
		.interleaved = call_env(call)->config->content == CONTENT_INTERLEAVED,
		.max_chars = call_env(call)->config->max_answer_chars,
	};
	call_reply(call, result_of_run(result, &context));
}

static struct op *execute_start(struct call *call, const void *data, struct fail *f)
{
	const struct execute_args *args = data;
	size_t n_env;
	AUTO(freep) struct env_var *env = env_arg(args->env, &n_env);
	return manager_run(call_env(call)->conversation,
			   &(struct run_request){
				   .kind = call->tool == &tool_execute_terminal ? RUN_TERMINAL : RUN_CODE,
				   .session_id = args->session_id,
				   .text = args->text,
				   .len = strlen(args->text),
				   .timeout_seconds = (uint64_t)args->timeout,
				   .env = env,
				   .n_env = n_env,
				   .cwd = args->cwd,
				   .on_output = execute_output,
				   .on_done = execute_done,
				   .ctx = call,
			   },
			   f);
}

const struct tool tool_execute_code = {
	.name = "execute_code",
	.title = "Run code in a session",
	.open_world = true,
	.fields_in_meta = true,
	.describe = code_describe,
	.args = code_table,
	.args_size = sizeof(struct execute_args),
	.args_init = execute_defaults,
	.start = execute_start,
};

const struct tool tool_execute_terminal = {
	.name = "execute_terminal",
	.title = "Run a shell command in a session",
	.open_world = true,
	.fields_in_meta = true,
	.describe = terminal_describe,
	.args = terminal_table,
	.args_size = sizeof(struct execute_args),
	.args_init = execute_defaults,
	.start = execute_start,
};
