/* JSON bodies of the HTTP API with the tables of the real routes: accepted values are within the schema, and a
 * rejection is explained in a bounded text. The first byte picks the route. */
#include "api/body.h"
#include "api/problem.h"
#include "api/route.h"
#include "base/alloc.h"
#include "tests/fuzz/decoded.h"
#include "tests/fuzz/fuzz.h"

/* A body is refused as a whole in one sentence, in which the parser may quote a little of it. */
#define DETAIL_MAX 2000

static const struct route *route_with_body(unsigned pick)
{
	const struct route *found[256], *r;
	size_t n = 0;
	for (size_t i = 0; (r = route_nth(i)); i++)
		if (r->body && !(r->flags & ROUTE_RAW_BODY))
			found[n++] = r;
	return found[pick % n];
}

/* An answer can be sent: it is valid JSON. Takes the problem. */
static void check_answer(json_t *problem, size_t max)
{
	json_auto_t *own = problem;
	AUTO(freep) char *sent = json_dumps(own, 0);
	CHECK(sent && strlen(sent) < max);
}

static void check_refused(const json_t *problems)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *text = decoded_problems(problems);
	CHECK(text);
	fail_set(&f, FAIL_INVALID, "The body: %s", text);
	check_answer(problem_body(400, &f, /* remote= */ true), SIZE_MAX);
}

int fuzz_one(const uint8_t *data, size_t n)
{
	if (!n)
		return 0;
	const struct route *route = route_with_body(data[0]);
	AUTO(freep) char *detail = NULL;
	json_auto_t *body = body_parse(data + 1, n - 1, &detail);
	CHECK(!body == !!detail);
	if (!body) {
		check_answer(problem_plain(400, detail, NULL), DETAIL_MAX);
		return 0;
	}
	AUTO(freep) char *decoded = xcalloc(1, route->body_size);
	json_auto_t *problems = args_decode(route->body, body, decoded);
	if (problems)
		check_refused(problems);
	else
		CHECK(decoded_fits(route->body, body, decoded, /* defaults= */ false));
	return 0;
}
