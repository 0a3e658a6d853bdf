/* Queries to a session's interpreter. */
#include "attach/codec.h"
#include "attach/served-private.h"

static void on_answer(void *ctx, const struct query_answer *answer, const struct fail *f)
{
	struct served *s = ctx;
	s->op = NULL;
	if (f)
		served_fail(s, f);
	else
		served_answer(s, query_answer_encode(answer));
}

static int start(struct served *s, const json_t *request, struct fail *f)
{
	struct query_request r;
	if (query_request_decode(request, &r, f) < 0)
		return -1;
	r.on_done = on_answer;
	r.ctx = s;
	s->op = manager_query(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_query = { .name = "ask", .size = sizeof(struct served), .start = start };
