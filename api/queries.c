/* Routes that ask a session's interpreter: completions, help, and whether code is complete. They leave nothing behind. */
#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "manager/json/codec.h"

struct query_body {
	const char *code;
	int64_t cursor; /* negative = the end of the code */
	bool detail;
};

#define ARG_CODE                                                                                                       \
	{                                                                                                              \
		"code", ARG_STRING, offsetof(struct query_body, code), ARG_REQUIRED,                                   \
			.max = QUERY_TEXT_MAX, .description = "The code.", .example = "\"import js\""                  \
	}
#define ARG_CURSOR                                                                                                     \
	{                                                                                                              \
		"cursor", ARG_INT, offsetof(struct query_body, cursor), ARG_ABSENT,                                    \
			.min = 0, .max = QUERY_TEXT_MAX,                                                               \
			.description = "Position in the code, in code points; default: its end.", .example = "9"       \
	}

static const struct arg complete_table[] = { ARG_CODE, ARG_CURSOR, { 0 } };
static const struct arg inspect_table[] = {
	ARG_CODE,
	ARG_CURSOR,
	{ "detail", ARG_BOOL, offsetof(struct query_body, detail), .description = "Full details, such as the source.",
	  .example = "true" },
	{ 0 },
};
static const struct arg is_complete_table[] = { ARG_CODE, { 0 } };

static void defaults(const struct exchange *x UNUSED, void *query UNUSED, void *args)
{
	((struct query_body *)args)->cursor = -1;
}

static void answered(void *ctx, const struct query_answer *answer, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, f))
		exchange_reply(x, 200, query_answer_encode(answer));
}

static size_t code_points(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += ((uint8_t)*text & 0xc0) != 0x80;
	return n;
}

static void post_query(struct exchange *x, enum query_kind kind)
{
	const struct query_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	struct query_request request = { .kind = kind,
					 .session_id = x->session,
					 .code = body->code,
					 .len = strlen(body->code),
					 .cursor = body->cursor < 0 ? code_points(body->code) : (size_t)body->cursor,
					 .detail = body->detail,
					 .on_done = answered,
					 .ctx = x };
	exchange_await(x, manager_query(x->conversation, &request, &f), &f);
}

static void post_complete(struct exchange *x)
{
	post_query(x, QUERY_COMPLETE);
}

static void post_inspect(struct exchange *x)
{
	post_query(x, QUERY_INSPECT);
}

static void post_is_complete(struct exchange *x)
{
	post_query(x, QUERY_IS_COMPLETE);
}

static const struct route_answer complete_answers[] = {
	{ 200, "Query", NULL, "Each of `matches` can replace the code from `start` to `end`." }, { 0 }
};
static const struct route_answer inspect_answers[] = {
	{ 200, "Query", NULL, "`found` says whether there is help, and `text` has it." }, { 0 }
};
static const struct route_answer is_complete_answers[] = {
	{ 200, "Query", NULL, "`completeness` is complete, incomplete, invalid or unknown." }, { 0 }
};

#define QUERY_ROUTE(the_path, the_name, the_summary, the_code, what)                                                   \
	{                                                                                                              \
		.method = HTTP_METHOD_POST, .path = "/v1/sessions/{session}/" the_path, .scope = SCOPE_RUN,            \
		.flags = ROUTE_SESSION, .name = the_name, .tag = "queries", .summary = the_summary,                    \
		.text = "A busy interpreter answers with 409.", .body = what##_table,                                  \
		.body_size = sizeof(struct query_body), .defaults = defaults, .answers = what##_answers,               \
		.example = "--json '{\"code\": \"" the_code "\"}'", .handle = post_##what                              \
	}

const struct route routes_queries[] = {
	QUERY_ROUTE("complete", "completeCode", "Complete a name at the cursor", "impo", complete),
	QUERY_ROUTE("inspect", "inspectCode", "Show help on the name at the cursor", "len", inspect),
	QUERY_ROUTE("is_complete", "isComplete", "Say whether code is complete", "for i in range(3):", is_complete),
	{ 0 },
};
