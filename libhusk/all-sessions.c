/* Functions for the user who owns the sessions: they cover all conversations and all processes. */
#include "libhusk/call.h"
#include "libhusk/take.h"

#define HISTORY_DEFAULT 100

struct whole_call {
	struct call call;
	const char *session;
	size_t limit;
	struct husk_sessions *sessions;
	struct husk_history *history;
	size_t n;
};

static struct whole_call *whole_call_of(struct call *call)
{
	return container_of(call, struct whole_call, call);
}

static void on_listed(void *ctx, const struct listed_session *v, size_t n, const struct fail *f,
		      const struct fail *unsure)
{
	struct whole_call *c = ctx;
	if (!f)
		c->sessions = take_listed(v, n, unsure);
	call_finish(&c->call, f);
}

static struct op *start_list(struct call *call, struct fail *f)
{
	return manager_list_all(call->husk->manager,
				&(struct list_request){ .on_done = on_listed, .ctx = whole_call_of(call) }, f);
}

/* `name` is the function that the program called, for error messages. */
static struct husk_error *list_all(const char *name, struct husk *h, const struct husk_wait *wait,
				   struct husk_sessions **ret)
{
	if (!ret)
		return error_missing(name, "ret");
	struct whole_call c = { .call.start = start_list };
	struct husk_error *error = call_perform(&c.call, &(struct call_target){ name, h, NULL, wait });
	if (!error)
		*ret = c.sessions;
	else
		husk_sessions_free(c.sessions);
	return error;
}

struct husk_error *husk_list_all(struct husk *h, const struct husk_wait *wait, struct husk_sessions **ret)
{
	return list_all("husk_list_all", h, wait, ret);
}

struct husk_error *husk_everything(struct husk *h, const struct husk_wait *wait, struct husk_sessions **ret)
{
	return list_all("husk_everything", h, wait, ret);
}

static void on_removed(void *ctx, size_t n, const struct fail *f)
{
	struct whole_call *c = ctx;
	c->n = n;
	call_finish(&c->call, f);
}

static struct op *start_remove(struct call *call, struct fail *f)
{
	struct whole_call *c = whole_call_of(call);
	return manager_stop_all(call->husk->manager,
				&(struct stop_all_request){ .session_id = c->session, .on_done = on_removed, .ctx = c },
				f);
}

struct husk_error *husk_remove(struct husk *h, const char *session, const struct husk_wait *wait, size_t *ret_n)
{
	struct whole_call c = { .call.start = start_remove, .session = session };
	struct husk_error *error = call_perform(&c.call, &(struct call_target){ "husk_remove", h, NULL, wait });
	if (ret_n && !error)
		*ret_n = c.n;
	return error;
}

static void on_collected(void *ctx, const struct collected *collected, const struct fail *f)
{
	on_removed(ctx, collected->n, f);
}

static struct op *start_collect(struct call *call, struct fail *f)
{
	return manager_collect_garbage(call->husk->manager,
				       &(struct collect_request){ .on_done = on_collected, .ctx = whole_call_of(call) },
				       f);
}

struct husk_error *husk_collect(struct husk *h, const struct husk_wait *wait, size_t *ret_n)
{
	struct whole_call c = { .call.start = start_collect };
	struct husk_error *error = call_perform(&c.call, &(struct call_target){ "husk_collect", h, NULL, wait });
	if (ret_n && !error)
		*ret_n = c.n;
	return error;
}

static void on_history(void *ctx, const struct history *history, const struct fail *f)
{
	struct whole_call *c = ctx;
	AUTO(fail_release) struct fail none = { 0 };
	if (!f && !history->known && !history->n) {
		cause_no_session(&none, c->session);
		f = &none;
	}
	if (!f)
		c->history = take_history(history);
	call_finish(&c->call, f);
}

static struct op *start_history(struct call *call, struct fail *f)
{
	struct whole_call *c = whole_call_of(call);
	return manager_history(call->husk->manager,
			       &(struct history_request){
				       .session_id = c->session, .limit = c->limit, .on_done = on_history, .ctx = c },
			       f);
}

struct husk_error *husk_history(struct husk *h, const char *session, size_t limit, const struct husk_wait *wait,
				struct husk_history **ret)
{
	if (!ret)
		return error_missing("husk_history", "ret");
	if (!session)
		return error_missing("husk_history", "the session's id");
	struct whole_call c = { .call.start = start_history,
				.session = session,
				.limit = limit ? limit : HISTORY_DEFAULT };
	struct husk_error *error = call_perform(&c.call, &(struct call_target){ "husk_history", h, NULL, wait });
	if (!error)
		*ret = c.history;
	else
		husk_history_free(c.history);
	return error;
}
