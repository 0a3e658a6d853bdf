/* Health, for load balancers: whether the process answers, and whether its store and its engine do. */
#include "api/host.h"
#include "api/problem.h"
#include "api/route.h"

static void get_health(struct exchange *x)
{
	exchange_reply(x, 200, json_pack("{s:s, s:s}", "status", "ok", "version", HUSK_VERSION));
}

static void get_ready(struct exchange *x);

static void reply_ready(struct exchange *x, const struct fail *store, const struct fail *engine)
{
	if (!store && !engine) {
		exchange_reply(x, 200, json_pack("{s:s, s:s}", "status", "ready", "version", HUSK_VERSION));
		return;
	}
	exchange_fail(x, store ? store : engine);
}

/* All requests that arrived meanwhile get this answer. */
static void on_ready(void *ctx, const struct fail *store, const struct fail *engine)
{
	struct api *api = ctx;
	api->ready = NULL;
	list_for_each(x, &api->exchanges, struct exchange, node)
		if (x->route && x->route->handle == get_ready && x->data == api)
			reply_ready(x, store, engine);
}

/* The request needs no key, so one check serves all requests that wait: they cannot make the server start many. */
static void get_ready(struct exchange *x)
{
	struct api *api = x->api;
	AUTO(fail_release) struct fail f = { 0 };
	if (!api->ready)
		api->ready = manager_ready(api->spec.manager,
					   &(struct ready_request){ .on_done = on_ready, .ctx = api }, &f);
	if (api->ready)
		x->data = api; /* marks the exchange as waiting */
	else
		exchange_fail(x, &f);
}

static const struct route_answer health_answers[] = { { 200, "Health", NULL, "The process answers." }, { 0 } };
static const struct route_answer ready_answers[] = { { 200, "Health", NULL, "The store and the engine answer." },
						     { 503, "Problem", "application/problem+json",
						       "One of them does not answer." },
						     { 0 } };

const struct route routes_health[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/healthz",
	  .flags = ROUTE_OPEN,
	  .name = "getHealth",
	  .tag = "server",
	  .summary = "Say whether the process answers",
	  .answers = health_answers,
	  .handle = get_health },
	{ .method = HTTP_METHOD_GET,
	  .path = "/readyz",
	  .flags = ROUTE_OPEN,
	  .name = "getReady",
	  .tag = "server",
	  .summary = "Say whether the store and the engine answer",
	  .answers = ready_answers,
	  .handle = get_ready },
	{ 0 },
};
