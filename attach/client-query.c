/* Queries to a session's interpreter. */
#include "attach/client-private.h"
#include "attach/codec.h"
#include "base/alloc.h"

struct query_call {
	struct attach_call call;
	void (*on_done)(void *ctx, const struct query_answer *answer, const struct fail *f);
	void *ctx;
	enum query_kind kind;
};

static struct query_call *call_of(struct attach_call *call)
{
	return container_of(call, struct query_call, call);
}

static int on_answer(struct attach_call *call, const json_t *json, struct fail *f)
{
	struct query_call *c = call_of(call);
	AUTO(query_answer_release) struct query_answer answer = { 0 };
	if (query_answer_decode(json, &answer, f) < 0)
		return -1;
	if (answer.kind != c->kind)
		return fail_set(f, FAIL_INVALID, "the answer belongs to another query");
	c->on_done(c->ctx, &answer, NULL);
	return 0;
}

static void on_fail(struct attach_call *call, const struct fail *f)
{
	call_of(call)->on_done(call_of(call)->ctx, NULL, f);
}

static void free_call(struct attach_call *call)
{
	free(call_of(call));
}

struct attach_call *attach_query(struct attach *a, const struct query_request *req, struct fail *f)
{
	static const struct attach_call_type type = {
		.op = "ask", .on_answer = on_answer, .on_fail = on_fail, .free = free_call
	};
	struct query_call *c = new0(struct query_call);
	c->kind = req->kind;
	c->on_done = req->on_done;
	c->ctx = req->ctx;
	return attach_call_start(a, &c->call, &type, query_request_encode(req), f);
}
