/* The tool session_info: lists the conversation's sessions, or shows the state of one. */
#include "base/alloc.h"
#include "base/json.h"
#include "mcp/tools.h"

struct info_args {
	const char *session_id;
	bool keep_alive;
};

static const struct arg info_table[] = {
	{ "session_id", ARG_STRING, offsetof(struct info_args, session_id), ARG_NONEMPTY, .max = 128,
	  .description = "The session to show.", .example = "\"kq3v…\" (the session_id that create_session returned)" },
	{ "keep_alive", ARG_BOOL, offsetof(struct info_args, keep_alive), ARG_ABSENT,
	  .description = "Count this as use of the session.", .example = "true" },
	{ 0 },
};

static char *info_describe(const struct tool_env *env)
{
	return xstrdup(
		"Show sessions without running code: with a session_id its runs, memory and disk use with their limits, "
		"remaining time, dependencies and variables (name, type, shape, bytes; the largest first); without one, "
		"the sessions of this conversation. Cheaper than printing variables. keep_alive: true keeps an idle "
		"session from ending, within its lifetime.");
}

static json_t *session_fields(const struct session_info *info)
{
	json_t *o = json_pack("{s:o, s:o, s:o, s:I, s:I}", "session_id", json_name(info->id), "runtime",
			      json_name(info->runtime), "status", json_name(info->status), "age_seconds",
			      (json_int_t)info->age_seconds, "idle_seconds", (json_int_t)info->idle_seconds);
	if (info->name)
		json_object_set_new(o, "name", json_name(info->name));
	return o;
}

static json_t *runs_fields(const struct session_details *d)
{
	json_t *list = json_array();
	for (size_t i = 0; i < d->n_runs; i++)
		json_array_append_new(
			list, json_pack("{s:I, s:s, s:s, s:f}", "run", (json_int_t)d->runs[i].number, "tool",
					d->runs[i].kind == RUN_TERMINAL ? "execute_terminal" : "execute_code", "state",
					d->runs[i].state, "seconds", (double)d->runs[i].age_ms / 1000));
	return list;
}

static json_t *disks_fields(const struct session_status *status)
{
	json_t *list = json_array();
	for (size_t i = 0; i < status->n_disks; i++)
		json_array_append_new(list, json_pack("{s:o, s:I, s:I}", "path", json_name(status->disks[i].path),
						      "used", (json_int_t)status->disks[i].used, "size",
						      (json_int_t)status->disks[i].size));
	return list;
}

static json_t *variables_fields(const struct session_status *status)
{
	json_t *list = json_array();
	for (size_t i = 0; i < status->n_variables; i++) {
		const struct variable *v = &status->variables[i];
		json_t *one = json_pack("{s:o, s:o}", "name", json_name(v->name), "type", json_name(v->type));
		if (*v->shape)
			json_object_set_new(one, "shape", json_name(v->shape));
		if (v->bytes)
			json_object_set_new(one, "bytes", json_integer((json_int_t)v->bytes));
		json_array_append_new(list, one);
	}
	return list;
}

static void add_status(json_t *o, const struct session_status *status)
{
	if (!status->answered) {
		json_object_set_new(
			o, "note",
			json_string(
				"the container did not answer in time; its memory, disks and variables are unknown"));
		return;
	}
	json_object_set_new(o, "memory",
			    json_pack("{s:I, s:I}", "used", (json_int_t)status->memory, "limit",
				      (json_int_t)status->memory_limit));
	json_object_set_new(o, "disks", disks_fields(status));
	if (status->ptys)
		json_object_set_new(o, "ptys", json_integer((json_int_t)status->ptys));
	if (status->no_landlock)
		json_object_set_new(
			o, "landlock",
			json_string("missing: processes that a cell leaves behind can attack later commands"));
	if (!status->has_variables)
		return;
	json_object_set_new(o, "variables", variables_fields(status));
	if (status->more)
		json_object_set_new(o, "more_variables", json_integer((json_int_t)status->more));
	if (!status->fresh)
		json_object_set_new(o, "note", json_string("these are the variables before the running cell"));
}

static void info_done(void *ctx, const struct session_details *d, const struct fail *f)
{
	struct call *call = ctx;
	const struct info_args *args = call->decoded;
	call->op = NULL;
	if (!d) {
		tools_fail(call, args->session_id, f);
		return;
	}
	json_t *o = session_fields(&d->session);
	json_t *versions = d->session.dependencies ? json_loads(d->session.dependencies, 0, NULL) : NULL;
	json_object_set_new(o, "success", json_true());
	if (d->left_seconds != UINT64_MAX)
		json_object_set_new(o, "seconds_left", json_integer((json_int_t)d->left_seconds));
	json_object_set_new(o, "idle_seconds_left", json_integer((json_int_t)d->idle_left_seconds));
	if (versions)
		json_object_set_new(o, "dependencies", versions);
	if (d->session.limits.cpu_quota)
		json_object_set_new(o, "cpus", json_real(limits_cpus(&d->session.limits)));
	json_object_set_new(o, "runs", runs_fields(d));
	add_status(o, d->status);
	tools_reply_fields(call, o);
}

static void list_one(void *ctx, const struct session_info *info)
{
	json_array_append_new(ctx, session_fields(info));
}

static void list_sessions(struct call *call, bool complete)
{
	json_t *list = json_array();
	conversation_each_session(call_env(call)->conversation, list_one, list);
	json_t *o = json_pack("{s:b, s:o}", "success", 1, "sessions", list);
	if (!complete)
		json_object_set_new(o, "note", json_string(TOOLS_ADOPTING " Call again in a few seconds."));
	tools_reply_fields(call, o);
}

static void list_adopted(void *ctx, bool complete)
{
	struct call *call = ctx;
	call->op = NULL;
	list_sessions(call, complete);
}

static struct op *info_start(struct call *call, const void *data, struct fail *f)
{
	const struct info_args *args = data;
	if (!args->session_id && !args->keep_alive)
		return manager_await(call_env(call)->conversation,
				     &(struct await_request){ .on_done = list_adopted, .ctx = call });
	if (!args->session_id) {
		fail_set(f, FAIL_INVALID, "keep_alive needs session_id");
		return NULL;
	}
	return manager_info(call_env(call)->conversation,
			    &(struct info_request){ .session_id = args->session_id,
						    .keep_alive = args->keep_alive,
						    .on_done = info_done,
						    .ctx = call },
			    f);
}

/* Returns true if the request was answered immediately. */
static bool info_now(struct call *call, const void *data)
{
	const struct info_args *args = data;
	if (args->session_id || args->keep_alive || conversation_is_adopting(call_env(call)->conversation))
		return false;
	list_sessions(call, /* complete= */ true);
	return true;
}

const struct tool tool_session_info = {
	.name = "session_info",
	.scope = SCOPE_SESSIONS_READ,
	.title = "Show sessions",
	.read_only = true,
	.idempotent = true,
	.describe = info_describe,
	.args = info_table,
	.args_size = sizeof(struct info_args),
	.answer_now = info_now,
	.start = info_start,
};
