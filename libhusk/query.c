/* Queries to a session's interpreter: completion, help, completeness of code. */
#include "libhusk/call.h"
#include "libhusk/pool.h"

#include "base/alloc.h"

/* The answer to a query of any kind. */
struct owned_answer {
	union {
		struct husk_completion completion;
		struct husk_help help;
		struct husk_wholeness wholeness;
	};
	struct pool pool;
};

struct query_call {
	struct call call;
	struct query_request request;
	struct owned_answer *answer;
};

static struct owned_answer *take_answer(const struct query_answer *from)
{
	struct owned_answer *o = new0(struct owned_answer);
	const char **matches;
	switch (from->kind) {
	case QUERY_COMPLETE:
		matches = pool_alloc(&o->pool, from->n_matches, sizeof(*matches));
		for (size_t i = 0; i < from->n_matches; i++)
			matches[i] = pool_text(&o->pool, from->matches[i]);
		o->completion = (struct husk_completion){ .start = from->start,
							  .end = from->end,
							  .n = from->n_matches,
							  .matches = matches,
							  .more = from->more };
		break;
	case QUERY_INSPECT:
		o->help = (struct husk_help){ .found = from->found,
					      .text = pool_text(&o->pool, from->text),
					      .html = pool_text(&o->pool, from->html) };
		break;
	default:
		o->wholeness = (struct husk_wholeness){ .state = completeness_name(from->completeness),
							.indent = pool_text(&o->pool, from->indent) };
		break;
	}
	return o;
}

static void answer_free(struct owned_answer *o)
{
	if (!o)
		return;
	pool_release(&o->pool);
	free(o);
}

static void on_answered(void *ctx, const struct query_answer *answer, const struct fail *f)
{
	struct query_call *c = ctx;
	if (answer)
		c->answer = take_answer(answer);
	call_finish(&c->call, answer ? NULL : f);
}

static struct op *start_query(struct call *call, struct fail *f)
{
	struct query_call *c = container_of(call, struct query_call, call);
	c->request.on_done = on_answered;
	c->request.ctx = c;
	return manager_query(call->conversation->conversation, &c->request, f);
}

/* The caller owns *ret_answer. */
static struct husk_error *perform(const char *function, struct husk_conversation *conversation,
				  const struct query_request *request, const struct husk_wait *wait, const void *ret,
				  struct owned_answer **ret_answer)
{
	struct query_call c = { .call.start = start_query, .request = *request };
	if (!ret)
		return error_missing(function, "ret");
	if (!request->session_id)
		return error_missing(function, "the session's id");
	if (!request->code)
		return error_missing(function, "the code");
	c.request.len = strlen(request->code);
	struct husk_error *error = call_perform(&c.call, &(struct call_target){ function, NULL, conversation, wait });
	if (error)
		answer_free(c.answer);
	else
		*ret_answer = c.answer;
	return error;
}

struct husk_error *husk_complete(struct husk_conversation *conversation, const char *session, const char *code,
				 size_t cursor, const struct husk_wait *wait, struct husk_completion **ret)
{
	struct owned_answer *answer = NULL;
	struct husk_error *error =
		perform("husk_complete", conversation,
			&(struct query_request){
				.kind = QUERY_COMPLETE, .session_id = session, .code = code, .cursor = cursor },
			wait, ret, &answer);
	if (!error)
		*ret = &answer->completion;
	return error;
}

struct husk_error *husk_inspect(struct husk_conversation *conversation, const char *session, const char *code,
				size_t cursor, int detail, const struct husk_wait *wait, struct husk_help **ret)
{
	struct owned_answer *answer = NULL;
	struct husk_error *error = perform("husk_inspect", conversation,
					   &(struct query_request){ .kind = QUERY_INSPECT,
								    .session_id = session,
								    .code = code,
								    .cursor = cursor,
								    .detail = detail != 0 },
					   wait, ret, &answer);
	if (!error)
		*ret = &answer->help;
	return error;
}

struct husk_error *husk_is_complete(struct husk_conversation *conversation, const char *session, const char *code,
				    const struct husk_wait *wait, struct husk_wholeness **ret)
{
	struct owned_answer *answer = NULL;
	struct husk_error *error =
		perform("husk_is_complete", conversation,
			&(struct query_request){ .kind = QUERY_IS_COMPLETE, .session_id = session, .code = code }, wait,
			ret, &answer);
	if (!error)
		*ret = &answer->wholeness;
	return error;
}

void husk_completion_free(struct husk_completion *c)
{
	answer_free(c ? container_of(c, struct owned_answer, completion) : NULL);
}

void husk_help_free(struct husk_help *h)
{
	answer_free(h ? container_of(h, struct owned_answer, help) : NULL);
}

void husk_wholeness_free(struct husk_wholeness *w)
{
	answer_free(w ? container_of(w, struct owned_answer, wholeness) : NULL);
}
