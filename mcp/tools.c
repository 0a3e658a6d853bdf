#include "mcp/tools.h"

#include "base/alloc.h"
#include "base/json.h"
#include "mcp/apps.h"
#include "mcp/result.h"
#include "mcp/shown.h"

static const struct tool *const tools[] = {
	&tool_create_session, &tool_execute_code, &tool_execute_terminal, &tool_import_files,
	&tool_export_files,   &tool_stop_session, &tool_session_info,	  &tool_checkpoint,
};

const struct tool *tools_nth(size_t i)
{
	return i < ARRAY_LEN(tools) ? tools[i] : NULL;
}

const struct tool *tools_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (streq(tools[i]->name, name))
			return tools[i];
	return NULL;
}

const struct tool *tools_of_request(const struct tool_env *env, const struct call *call, const char *name)
{
	return apps_known(env->app, call) && streq(name, tool_show_run.name) ? &tool_show_run : tools_find(name);
}

static void *new_args(const struct tool *tool, const struct tool_env *env)
{
	void *args = xcalloc(1, tool->args_size);
	if (tool->args_init)
		tool->args_init(args, env);
	return args;
}

static const struct arg *args_of(const struct tool *tool, const struct tool_env *env)
{
	return tool->args_for ? tool->args_for(env) : tool->args;
}

/* Each character costs tokens, so defaults of the protocol and hints that the title implies are left out. */
static json_t *describe_hints(const struct tool *tool, const struct revision *revision)
{
	json_t *o = json_pack("{s:b, s:b}", "readOnlyHint", tool->read_only, "destructiveHint", tool->destructive);
	if (!revision->titles)
		json_object_set_new(o, "title", json_string(tool->title));
	if (tool->idempotent)
		json_object_set_new(o, "idempotentHint", json_true());
	if (!tool->open_world)
		json_object_set_new(o, "openWorldHint", json_false());
	return o;
}

static json_t *describe_one(const struct tool *tool, const struct tool_env *env, const struct revision *revision)
{
	AUTO(freep) char *description = tool->describe(env);
	AUTO(freep) void *defaults = new_args(tool, env);
	json_t *schema = args_schema(args_of(tool, env), defaults);
	if (tool->extend)
		tool->extend(json_object_get(schema, "properties"), env);
	json_t *o = json_pack("{s:s, s:o, s:o}", "name", tool->name, "description", json_text(description),
			      "inputSchema", schema);
	if (revision->titles)
		json_object_set_new(o, "title", json_string(tool->title));
	if (revision->annotations)
		json_object_set_new(o, "annotations", describe_hints(tool, revision));
	return o;
}

json_t *tools_describe(const struct tool_env *env, const struct revision *revision, bool apps)
{
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		json_t *o = describe_one(tools[i], env, revision);
		if (apps && tools[i]->has_output)
			apps_refer(o, /* app_only= */ false);
		json_array_append_new(list, o);
	}
	if (apps) {
		json_t *o = describe_one(&tool_show_run, env, revision);
		apps_refer(o, /* app_only= */ true);
		json_array_append_new(list, o);
	}
	return list;
}

char *tools_instructions(const struct tool_env *env)
{
	return xstrdup(
		"Husk runs code on a real computer for you: persistent interpreters, each in its own hardened Linux "
		"container. Use it whenever running code beats guessing: calculation, data analysis, plots, checking that "
		"a program works, shell commands.\n"
		"- Work in this order: create_session once, then execute_code (cells in the interpreter) and "
		"execute_terminal (bash) as often as needed, stop_session when done. Prefer ONE session per language and "
		"reuse it; make another only for another language, another network setting or after CONTAINER_DIED. If an "
		"error lists active sessions, use one.\n"
		"- State persists like in a notebook: variables, imports, files in /workspace, the shell's directory and "
		"exported variables. Do not import or load things again; loading big data twice is the main cause of "
		"running out of memory.\n"
		"- Send the whole code each time. The value of the last expression is returned; print the rest. Figures "
		"are returned as images.\n"
		"- For anything slow pass `wait`: if the run has not ended by then, the answer has its output so far and "
		"a run number, and {run: 7, wait: 60} continues waiting. Without `wait`, `timeout` interrupts the code; "
		"variables are kept.\n"
		"- Sessions are separate machines: host paths are not visible inside, and sessions share no files. "
		"import_files copies files in, export_files out and to other sessions; exports outlive sessions.\n"
		"- On CONTAINER_DIED stop the session, find the cause, create a new one, and never run the same code "
		"unchanged. For a missing package install it in the terminal and try again.");
}

/* --- calls ---------------------------------------------------------------------------------------------- */

static void list_session(void *ctx, const struct session_info *info)
{
	json_array_append_new(ctx, shown_listed_session(info));
}

static void reply_fail(struct call *call, const char *session_id, const struct fail *f, json_t *details, json_t *active)
{
	const struct tool *tool = call->tool;
	const struct tool_env *env = call->env;
	call_reply(call,
		   result_of_fail(f, &(struct fail_context){
					     .session_id = session_id,
					     .details = details,
					     .active_sessions = active,
					     .fields_in_meta = tool->fields_in_meta,
					     .structured = call->revision->structured &&
							   (!tool->fields_in_meta || env->config->structured_content),
					     .remote = env->remote,
				     }));
}

static void fail_now(struct call *call, const char *session_id, const struct fail *f, json_t *details)
{
	const struct tool_env *env = call->env;
	json_auto_t *active = json_array();
	conversation_each_session(env->conversation, list_session, active);
	reply_fail(call, session_id, f, details, active);
}

static void fail_adopted(void *ctx, bool complete)
{
	struct call *call = ctx;
	struct fail *f = &call->failure;
	call->op = NULL;
	if (!complete) {
		f->cause = CAUSE_ADOPTING;
		fail_hint(f, TOOLS_ADOPTING);
	}
	fail_now(call, call->failed_session, f, NULL);
}

/* The error "there is no such session" lists the existing sessions. Right after a reconnect these are still being
 * found, so the answer waits for the complete list. */
static void fail_with(struct call *call, const char *session_id, const struct fail *f, json_t *details)
{
	const struct tool_env *env = call->env;
	bool lists = f->kind == FAIL_NOT_FOUND || f->kind == FAIL_FOREIGN;
	if (!lists || !conversation_is_adopting(env->conversation)) {
		fail_now(call, session_id, f, details);
		return;
	}
	fail_copy(&call->failure, f);
	call->failed_session = session_id;
	call->op = manager_await(env->conversation, &(struct await_request){ .on_done = fail_adopted, .ctx = call });
}

void tools_refuse(struct call *call, const struct session_info *active, size_t n, const struct fail *f)
{
	json_auto_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		list_session(list, &active[i]);
	reply_fail(call, /* session_id= */ NULL, f, /* details= */ NULL, list);
}

void tools_fail(struct call *call, const char *session_id, const struct fail *f)
{
	fail_with(call, session_id, f, NULL);
}

void tools_reply_fields(struct call *call, json_t *fields)
{
	call_reply(call, result_of_fields(fields, call->revision->structured));
}

void tools_call(struct call *call, const struct tool *tool, json_t *args, const struct tool_env *env, json_t *state,
		const json_t *answers)
{
	AUTO(fail_release) struct fail f = { 0 };
	call->tool = tool;
	call->env = env;
	call->args = json_incref(args);
	call->decoded = new_args(tool, env);
	if (!scopes_allow(call->scopes, tool->scope)) {
		fail_set(&f, FAIL_INVALID, "the key of this client lacks the scope %s, which %s needs",
			 scope_name(tool->scope), tool->name);
		fail_hint(&f, "Tell the user: `husk keys add NAME --scope …` makes a key with it.");
		fail_now(call, /* session_id= */ NULL, &f, NULL);
		return;
	}
	json_auto_t *problems = args_decode(args_of(tool, env), args, call->decoded);
	if (problems) {
		AUTO(freep) char *text = args_problems_text(problems);
		fail_set(&f, FAIL_INVALID, "%s", text);
		fail_with(call, /* session_id= */ NULL, &f, problems);
		return;
	}
	if (tool->answer_now && tool->answer_now(call, call->decoded))
		return;
	call->op =
		state && tool->resume ? tool->resume(call, state, answers, &f) : tool->start(call, call->decoded, &f);
	if (!call->op)
		fail_with(call, /* session_id= */ NULL, &f, NULL);
}

struct env_var *tools_env(json_t *texts, size_t *ret_n)
{
	struct env_var *v = xcalloc(json_object_size(texts) + 1, sizeof(*v));
	size_t n = 0;
	const char *name;
	json_t *value;
	json_object_foreach(texts, name, value) {
		const char *text = json_string_value(value);
		v[n++] = (struct env_var){ .name = name, .value = text ? text : "" };
	}
	*ret_n = n;
	return v;
}
