/* The status of a session. */
#include "libhusk/call.h"
#include "libhusk/take.h"

struct look_call {
	struct call call;
	const char *session;
	bool keep_alive;
	struct husk_look *look;
};

static void on_looked(void *ctx, const struct session_details *details, const struct fail *f)
{
	struct look_call *c = ctx;
	if (details)
		c->look = take_look(details);
	call_finish(&c->call, details ? NULL : f);
}

static struct op *start_look(struct call *call, struct fail *f)
{
	struct look_call *c = container_of(call, struct look_call, call);
	return manager_info(
		call->conversation->conversation,
		&(struct info_request){
			.session_id = c->session, .keep_alive = c->keep_alive, .on_done = on_looked, .ctx = c },
		f);
}

/* `name` is the function that the program called; errors name it. */
static struct husk_error *look(const char *name, struct husk_conversation *conversation, const char *session,
			       int keep_alive, const struct husk_wait *wait, struct husk_look **ret)
{
	struct look_call c = { .call.start = start_look, .session = session, .keep_alive = keep_alive != 0 };
	if (!ret)
		return error_missing(name, "ret");
	if (!session)
		return error_missing(name, "the session's id");
	struct husk_error *error = call_perform(&c.call, &(struct call_target){ name, NULL, conversation, wait });
	if (!error)
		*ret = c.look;
	else
		husk_look_free(c.look);
	return error;
}

struct husk_error *husk_status(struct husk_conversation *conversation, const char *session, int keep_alive,
			       const struct husk_wait *wait, struct husk_look **ret)
{
	return look("husk_status", conversation, session, keep_alive, wait, ret);
}

struct husk_error *husk_look(struct husk_conversation *conversation, const char *session, int keep_alive,
			     const struct husk_wait *wait, struct husk_look **ret)
{
	return look("husk_look", conversation, session, keep_alive, wait, ret);
}

void husk_status_free(struct husk_look *status)
{
	husk_look_free(status);
}
