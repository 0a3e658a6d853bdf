#include "api/steps.h"

#include <errno.h>
#include <strings.h>

#include "api/auth.h"
#include "api/body.h"
#include "api/conversations.h"
#include "api/host.h"
#include "api/lookup.h"
#include "api/origins.h"
#include "api/problem.h"
#include "api/replay.h"
#include "api/route.h"
#include "api/stream.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"

/* --- decoding ------------------------------------------------------------------------------------------------------ */

/* Answers with 400 and returns false if the values do not match the table. */
static bool decode(struct exchange *x, const struct arg *table, json_t *values, void *out, const char *where)
{
	json_t *errors = args_decode(table, values, out);
	if (!errors)
		return true;
	AUTO(freep) char *text = args_problems_text(errors);
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_INVALID, "%s: %s", where, text);
	json_t *problem = problem_body(400, &f, x->caller.remote);
	json_object_set_new(problem, "errors", errors);
	exchange_reply_problem(x, 400, NULL, problem);
	return false;
}

static bool decode_query(struct exchange *x)
{
	static const struct arg none[] = { { 0 } };
	const struct route *route = x->route;
	x->query_json = json_object();
	for (size_t i = 0; i < x->target.n_parameters; i++) {
		const char *name = (const char *)x->target.text.data + x->target.names[i];
		if (json_object_get(x->query_json, name)) {
			AUTO(freep) char *detail = xasprintf("The query: '%.64s' is given more than once.", name);
			exchange_problem(x, 400, detail, NULL);
			return false;
		}
		json_object_set_new(x->query_json, name,
				    json_text((const char *)x->target.text.data + x->target.values[i]));
	}
	x->query = xcalloc(1, MAX(route->query_size, 1));
	x->args = xcalloc(1, MAX(route->body_size, 1));
	if (route->defaults)
		route->defaults(x, x->query, x->args);
	return decode(x, route->query ? route->query : none, x->query_json, x->query, "The query");
}

static void on_body(void *ctx, const void *data, size_t n)
{
	struct exchange *x = ctx;
	AUTO(freep) char *detail = NULL;
	x->body = body_parse(data, n, &detail);
	if (!x->body) {
		exchange_problem(x, 400, detail, "Send a JSON object with Content-Type: application/json.");
		return;
	}
	if (decode(x, x->route->body, x->body, x->args, "The body"))
		replay_begin(x, data, n, x->route->handle);
}

/* A browser sends other types across origins without asking first, so only JSON is accepted. */
static bool body_is_json(const struct exchange *x)
{
	const char *type = exchange_field(x, "content-type");
	return !type || (strncasecmp(type, "application/json", 16) == 0 && strchr("; \t", type[16]));
}

static void found(struct exchange *x)
{
	if (!(x->route->flags & ROUTE_ANY_QUERY) && !decode_query(x))
		return;
	if (x->route->flags & ROUTE_RAW_BODY) {
		x->route->handle(x);
		return;
	}
	if (!x->route->body) {
		replay_begin(x, NULL, 0, x->route->handle);
		return;
	}
	if (!body_is_json(x)) {
		exchange_problem(x, 415, "The body must be JSON.", "Send Content-Type: application/json.");
		return;
	}
	http_request_collect(x->request, x->caller.remote ? API_BODY_MAX : API_LOCAL_BODY_MAX, on_body, x);
}

/* --- the steps before the handler ---------------------------------------------------------------------------------- */

/* The conversation that the request names, or the caller's own. */
static bool find_conversation(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	/* Scripts of a session's page can send any field. */
	const char *named = x->origin ? NULL : exchange_field(x, "husk-conversation");
	if (!x->caller.tenant)
		return true;
	size_t n = named ? strlen(named) : 0;
	if (named && (!n || *named == '@' || n > 256 || !utf8_valid(named, n))) {
		exchange_problem(x, 400,
				 "Husk-Conversation must have 1 to 256 bytes of UTF-8 and must not begin with '@'.",
				 NULL);
		return false;
	}
	AUTO(freep) char *id = named ? tenant_conversation(x->caller.tenant, named) : NULL;
	x->conversation = conversations_get(x->api->conversations, id ? id : x->caller.conversation, &f);
	if (x->conversation)
		return true;
	exchange_fail(x, &f);
	return false;
}

static void counted(struct exchange *x)
{
	if (!find_conversation(x))
		return;
	if (x->route->flags & ROUTE_SESSION)
		lookup_begin(x, found);
	else
		found(x);
}

/* If there were two values, a proxy might check the one and we might use the other. */
static bool check_fields(struct exchange *x)
{
	static const char *const single[] = { "authorization", "origin", "husk-conversation", "idempotency-key" };
	for (size_t i = 0; i < ARRAY_LEN(single); i++) {
		if (http_fields_count(&http_request_head(x->request)->fields, single[i]) < 2)
			continue;
		AUTO(freep) char *detail = xasprintf("The field %s is given more than once.", single[i]);
		exchange_problem(x, 400, detail, NULL);
		return false;
	}
	return true;
}

static void authenticated(struct exchange *x)
{
	if (auth_allows(x))
		stream_count(x, counted);
}

static bool find_route(struct exchange *x)
{
	const struct http_head *head = http_request_head(x->request);
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	int r = http_target_parse(&x->target, (const char *)head->target.data);
	if (r < 0) {
		exchange_problem(x, r == -E2BIG ? 414 : 400, "The path or the query of the request is not valid.",
				 "Each part must be valid UTF-8 after decoding, and not empty, \".\" or \"..\".");
		return false;
	}
	struct route_match m = route_find(head->method, &x->target);
	if (m.route) {
		x->route = m.route;
		x->path = m.route->path;
		memcpy(x->captures, m.captures, sizeof(x->captures));
		x->rest = m.rest;
		return true;
	}
	if (m.path_known) {
		http_fields_add(&fields, "Allow", m.allow);
		AUTO(freep) char *detail = xasprintf("This path does not support %s.", head->method_name);
		AUTO(freep) char *hint = xasprintf("It supports %s.", m.allow);
		exchange_reply_problem(x, 405, &fields, problem_plain(405, detail, hint));
		return false;
	}
	exchange_reply_problem(x, 404, NULL,
			       problem_plain(404, "There is no such route.",
					     "GET /v1/openapi.json describes all routes."));
	return false;
}

void steps_begin(struct api *api, struct http_request *r)
{
	struct exchange *x = exchange_new(api, r);
	if (check_fields(x) && (origins_match(x) || find_route(x)))
		auth_check(x, authenticated);
}
