/* The tool checkpoint: copies of a session's interpreter to go back to. */
#include "base/alloc.h"
#include "base/json.h"
#include "manager/json/codec.h"
#include "mcp/tools.h"

struct checkpoint_args {
	const char *session_id, *action, *name;
};

static const char *action_choice(size_t i)
{
	return i < CHECKPOINT_ACTIONS ? checkpoint_action_name((enum checkpoint_action)i) : NULL;
}

static const struct arg checkpoint_table[] = {
	{ "session_id", ARG_STRING, offsetof(struct checkpoint_args, session_id), ARG_REQUIRED | ARG_NONEMPTY,
	  .max = 128, .example = "\"kq3v…\" (the session_id that create_session returned)" },
	{ "action", ARG_STRING, offsetof(struct checkpoint_args, action), ARG_REQUIRED | ARG_NONEMPTY,
	  .choice = action_choice, .example = "\"save\"" },
	{ "name", ARG_STRING, offsetof(struct checkpoint_args, name), ARG_REQUIRED | ARG_NONEMPTY, .max = 600,
	  .example = "\"before_merge\"" },
	{ 0 },
};

static char *checkpoint_describe(const struct tool_env *env UNUSED)
{
	return xstrdup(
		"`save` variables (Python, R) before a risky step on data that was slow to make; `undo` returns to a name "
		"or a run's number. To try alternatives, `branch` copies the interpreter (names: a,b), "
		"execute_code(branch) runs there, `keep` one. Files are shared.");
}

static void checkpoint_done(void *ctx, const struct checkpoint_answer *answer, const struct fail *f)
{
	struct call *call = ctx;
	const struct checkpoint_args *args = call->decoded;
	call->op = NULL;
	if (!answer) {
		tools_fail(call, args->session_id, f);
		return;
	}
	json_t *o = checkpoint_answer_encode(answer);
	json_object_set_new(o, "success", json_true());
	tools_reply_fields(call, o);
}

static struct op *checkpoint_start(struct call *call, const void *data, struct fail *f)
{
	const struct checkpoint_args *args = data;
	struct checkpoint_request request = { .session_id = args->session_id, .on_done = checkpoint_done, .ctx = call };
	if (checkpoint_request_decode(&request, args->action, args->name, f) < 0)
		return NULL;
	return manager_checkpoint(call_env(call)->conversation, &request, f);
}

const struct tool tool_checkpoint = {
	.name = "checkpoint",
	.scope = SCOPE_RUN,
	.title = "Save, restore or branch variables",
	.destructive = true,
	.describe = checkpoint_describe,
	.args = checkpoint_table,
	.args_size = sizeof(struct checkpoint_args),
	.start = checkpoint_start,
};
