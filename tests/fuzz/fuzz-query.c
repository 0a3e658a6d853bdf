/* manager/line/queries: a hostile PID 1's answer to a query is bounded, clean, and delivered once to its waiter. */
#include "manager/line/queries.h"

#include "tests/fuzz/fuzz.h"

#define CODE_POINTS 20
#define CURSOR 5
#define MATCHES_MAX 1000
#define TEXT_MAX (8u * 60000)

static size_t told;

static void check_text(const char *s, size_t max)
{
	CHECK(utf8_valid(s, strlen(s)) && !strchr(s, 0x1b) && strlen(s) <= max);
}

static void on_answer(struct query_waiter *a, const struct query_answer *answer, const struct fail *f)
{
	told++;
	CHECK(!a->dispatch && !answer == !!f && (!f || (f->kind && f->message)));
	if (!answer)
		return;
	CHECK(answer->kind == a->kind && answer->start <= answer->end && answer->end <= CODE_POINTS);
	CHECK(answer->n_matches <= MATCHES_MAX && answer->found == (answer->text != NULL));
	for (size_t i = 0; i < answer->n_matches; i++) {
		check_text(answer->matches[i], 4000);
		CHECK(*answer->matches[i] && !strpbrk(answer->matches[i], "\r\n\t\b"));
	}
	if (answer->text)
		check_text(answer->text, TEXT_MAX);
	if (answer->html)
		check_text(answer->html, TEXT_MAX);
	if (answer->indent)
		check_text(answer->indent, TEXT_MAX);
	CHECK(answer->completeness < CODE_COMPLETENESSES);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	for (enum query_kind kind = 0; kind < QUERY_KINDS; kind++) {
		struct dispatch c = { 0 };
		struct query_waiter query_waiter = { .on_answer = on_answer,
						     .dispatch = &c,
						     .sent = true,
						     .number = 1,
						     .kind = kind,
						     .code_points = CODE_POINTS,
						     .cursor = CURSOR };
		struct wire_frame frame = { .type = FRAME_ANSWER, .call = 2, .payload = data, .n = n };
		list_init(&c.queries);
		list_append(&c.queries, &query_waiter.node);
		told = 0;
		CHECK(queries_frame(&c, &frame) == 0 && told == 0); /* the frame is for another waiter */
		frame.call = 1;
		int r = queries_frame(&c, &frame);
		CHECK(told == (r == 0));
		queries_release(&c);
	}
	return 0;
}
