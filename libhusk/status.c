/* The status of a session. */
#include "libhusk/call.h"
#include "libhusk/take.h"

struct status_call {
	struct call call;
	const char *session;
	bool keep_alive;
	struct husk_look *status;
};

static void on_status(void *ctx, const struct session_details *details, const struct fail *f)
{
	struct status_call *c = ctx;
	if (details)
		c->status = take_status(details);
	call_finish(&c->call, details ? NULL : f);
}

static struct op *start_status(struct call *call, struct fail *f)
{
	struct status_call *c = container_of(call, struct status_call, call);
	return manager_info(
		call->conversation->conversation,
		&(struct info_request){
			.session_id = c->session, .keep_alive = c->keep_alive, .on_done = on_status, .ctx = c },
		f);
}

/* `name` is the function that the program called, for error messages. */
static struct husk_error *status(const char *name, struct husk_conversation *conversation, const char *session,
				 int keep_alive, const struct husk_wait *wait, struct husk_look **ret)
{
	struct status_call c = { .call.start = start_status, .session = session, .keep_alive = keep_alive != 0 };
	if (!ret)
		return error_missing(name, "ret");
	if (!session)
		return error_missing(name, "the session's id");
	struct husk_error *error = call_perform(&c.call, &(struct call_target){ name, NULL, conversation, wait });
	if (!error)
		*ret = c.status;
	else
		husk_look_free(c.status);
	return error;
}

struct husk_error *husk_status(struct husk_conversation *conversation, const char *session, int keep_alive,
			       const struct husk_wait *wait, struct husk_look **ret)
{
	return status("husk_status", conversation, session, keep_alive, wait, ret);
}

struct husk_error *husk_look(struct husk_conversation *conversation, const char *session, int keep_alive,
			     const struct husk_wait *wait, struct husk_look **ret)
{
	return status("husk_look", conversation, session, keep_alive, wait, ret);
}

void husk_status_free(struct husk_look *status)
{
	husk_look_free(status);
}
