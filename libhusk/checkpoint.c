/* Checkpoints of a session's interpreter. */
#include "libhusk/call.h"
#include "libhusk/take.h"

struct checkpoint_call {
	struct call call;
	struct checkpoint_request request;
	struct husk_checkpoints *answer;
};

static void on_answered(void *ctx, const struct checkpoint_answer *answer, const struct fail *f)
{
	struct checkpoint_call *c = ctx;
	if (answer)
		c->answer = take_checkpoints(answer);
	call_finish(&c->call, answer ? NULL : f);
}

static struct op *start_checkpoint(struct call *call, struct fail *f)
{
	struct checkpoint_call *c = container_of(call, struct checkpoint_call, call);
	c->request.on_done = on_answered;
	c->request.ctx = c;
	return manager_checkpoint(call->conversation->conversation, &c->request, f);
}

static struct husk_error *perform(const char *function, struct husk_conversation *conversation,
				  const struct checkpoint_request *request, const struct husk_wait *wait,
				  struct husk_checkpoints **ret)
{
	struct checkpoint_call c = { .call.start = start_checkpoint, .request = *request };
	if (!ret)
		return error_missing(function, "ret");
	if (!request->session_id)
		return error_missing(function, "the session's id");
	bool chosen = request->action == CHECKPOINT_UNDO || request->action == CHECKPOINT_DROP; /* or by its run */
	if (!request->name && !chosen)
		return error_missing(function, "the name");
	struct husk_error *error = call_perform(&c.call, &(struct call_target){ function, NULL, conversation, wait });
	if (!error)
		*ret = c.answer;
	else
		husk_checkpoints_free(c.answer);
	return error;
}

struct husk_error *husk_checkpoint(struct husk_conversation *conversation, const char *session, const char *name,
				   const struct husk_wait *wait, struct husk_checkpoints **ret)
{
	return perform("husk_checkpoint", conversation,
		       &(struct checkpoint_request){ .session_id = session, .action = CHECKPOINT_SAVE, .name = name },
		       wait, ret);
}

struct husk_error *husk_undo(struct husk_conversation *conversation, const char *session, const char *name,
			     uint64_t run, const struct husk_wait *wait, struct husk_checkpoints **ret)
{
	return perform("husk_undo", conversation,
		       &(struct checkpoint_request){
			       .session_id = session, .action = CHECKPOINT_UNDO, .name = name, .run = run },
		       wait, ret);
}

struct husk_error *husk_checkpoint_drop(struct husk_conversation *conversation, const char *session, const char *name,
					uint64_t run, const struct husk_wait *wait, struct husk_checkpoints **ret)
{
	return perform("husk_checkpoint_drop", conversation,
		       &(struct checkpoint_request){
			       .session_id = session, .action = CHECKPOINT_DROP, .name = name, .run = run },
		       wait, ret);
}

struct husk_error *husk_branch(struct husk_conversation *conversation, const char *session, const char *names,
			       const struct husk_wait *wait, struct husk_checkpoints **ret)
{
	return perform(
		"husk_branch", conversation,
		&(struct checkpoint_request){ .session_id = session, .action = CHECKPOINT_BRANCH, .name = names }, wait,
		ret);
}

struct husk_error *husk_keep(struct husk_conversation *conversation, const char *session, const char *name,
			     const struct husk_wait *wait, struct husk_checkpoints **ret)
{
	return perform("husk_keep", conversation,
		       &(struct checkpoint_request){ .session_id = session, .action = CHECKPOINT_KEEP, .name = name },
		       wait, ret);
}
