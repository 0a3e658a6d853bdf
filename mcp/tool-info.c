/* The tool session_info: lists the conversation's sessions, or shows the state of one. */
#include "base/alloc.h"
#include "base/json.h"
#include "mcp/shown.h"
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
		"the sessions of this conversation. keep_alive: true keeps an idle "
		"session from ending, within its lifetime.");
}

/* Explains numbers that are missing or old. NULL = all are there. */
static const char *note_of(const struct session_status *status)
{
	if (!status->answered)
		return "the container did not answer in time; its memory, disks and variables are unknown";
	if (status->no_landlock)
		return "Landlock is missing: processes that a cell leaves behind can attack later commands";
	return status->has_variables && !status->fresh ? "these are the variables before the running cell" : NULL;
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
	json_t *o = shown_details(d);
	json_object_set_new(o, "success", json_true());
	if (note_of(d->status))
		json_object_set_new(o, "note", json_string(note_of(d->status)));
	tools_reply_fields(call, o);
}

static void list_one(void *ctx, const struct session_info *info)
{
	json_array_append_new(ctx, shown_listed_session(info));
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
