/* Questions to a session's interpreter. */
#include "attach/codec.h"
#include "attach/served-private.h"

static void on_answer(void *ctx, const struct ask_answer *answer, const struct fail *f)
{
	struct served *s = ctx;
	s->op = NULL;
	if (f)
		served_fail(s, f);
	else
		served_answer(s, ask_answer_encode(answer));
}

static int start(struct served *s, const json_t *request, struct fail *f)
{
	struct ask_request r;
	if (ask_request_decode(request, &r, f) < 0)
		return -1;
	r.on_done = on_answer;
	r.ctx = s;
	s->op = manager_ask(s->host->conversation, &r, f);
	return s->op ? 0 : -1;
}

const struct served_type served_ask = { .name = "ask", .size = sizeof(struct served), .start = start };
