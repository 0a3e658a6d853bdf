/* The route for checkpoints of a session's interpreter: it makes one, goes back to one, or drops one. */
#include "api/host.h"
#include "api/route.h"
#include "manager/json/codec.h"

struct checkpoint_body {
	const char *action, *name;
};

static const char *action_choice(size_t i)
{
	return i < CHECKPOINT_ACTIONS ? checkpoint_action_name((enum checkpoint_action)i) : NULL;
}

static const struct arg checkpoint_table[] = {
	{ "action", ARG_STRING, offsetof(struct checkpoint_body, action), .choice = action_choice,
	  .description =
		  "Default: save. `undo` returns to the checkpoint. `branch` copies the interpreter, `keep` makes a "
		  "branch the interpreter.",
	  .example = "\"undo\"" },
	{ "name", ARG_STRING, offsetof(struct checkpoint_body, name), ARG_REQUIRED | ARG_NONEMPTY, .max = 600,
	  .description = "Its name; for `undo` and `drop` also the number of the run after which it was made; for "
			 "`branch` one or more, separated by commas.",
	  .example = "\"before_merge\"" },
	{ 0 },
};

static void defaults(const struct exchange *x UNUSED, void *query UNUSED, void *args)
{
	((struct checkpoint_body *)args)->action = checkpoint_action_name(CHECKPOINT_SAVE);
}

static void answered(void *ctx, const struct checkpoint_answer *answer, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, f))
		exchange_reply(x, 200, checkpoint_answer_encode(answer));
}

static void post_checkpoint(struct exchange *x)
{
	const struct checkpoint_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	struct checkpoint_request request = { .session_id = x->session, .on_done = answered, .ctx = x };
	if (checkpoint_request_decode(&request, body->action, body->name, &f) < 0)
		exchange_fail(x, &f);
	else
		exchange_await(x, manager_checkpoint(x->conversation, &request, &f), &f);
}

static const struct route_answer checkpoint_answers[] = {
	{ 200, "Checkpoints", NULL, "All `checkpoints` and `branches`; `saved` or `restored` is what was done." }, { 0 }
};

const struct route routes_checkpoints[] = {
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/sessions/{session}/checkpoints",
	  .scope = SCOPE_RUN,
	  .flags = ROUTE_SESSION,
	  .name = "checkpoint",
	  .tag = "runs",
	  .summary = "Save, restore or drop a checkpoint of the variables; make, keep or drop branches",
	  .text = "Only Python and R sessions. A busy interpreter answers with 409, and files are not restored.",
	  .body = checkpoint_table,
	  .body_size = sizeof(struct checkpoint_body),
	  .defaults = defaults,
	  .answers = checkpoint_answers,
	  .example = "--json '{\"name\": \"before_merge\"}'",
	  .handle = post_checkpoint },
	{ 0 },
};
