/* Routes about the server itself: its description, its caller, and /mcp. */
#include "api/host.h"
#include "api/links.h"
#include "api/openapi.h"
#include "api/reroute.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/json.h"

static void get_openapi(struct exchange *x)
{
	exchange_reply(x, 200, openapi_describe());
}

static void get_me(struct exchange *x)
{
	json_t *scopes = json_array();
	for (unsigned bit = 1; bit <= SCOPE_ADMIN; bit <<= 1)
		if (x->caller.scopes & bit)
			json_array_append_new(scopes, json_string(scope_name((enum scope)bit)));
	json_t *out = json_pack("{s:o, s:o}", "tenant", json_text(x->caller.tenant), "scopes", scopes);
	if (x->caller.key)
		json_object_set_new(out, "key", json_text(x->caller.key));
	exchange_reply(x, 200, out);
}

/* Clients that look for OAuth servers here must get a clean 404 (http.md, section 5). */
static void get_well_known(struct exchange *x)
{
	exchange_problem(x, 404, "This server has no OAuth: it uses keys.",
			 "Send the header Authorization: Bearer KEY.");
}

static void pass_to_mcp(struct exchange *x)
{
	const struct api_spec *spec = &x->api->spec;
	AUTO(freep) char *base = links_base(x);
	struct api_caller caller = {
		.tenant = x->caller.tenant,
		.key = x->caller.key,
		.scopes = x->caller.scopes,
		.base = base,
		.final = reroute_is_final(x),
		.number = reroute_number(x),
	};
	struct http_request *r = take_ptr(x->request);
	http_request_on_closed(r, NULL, NULL);
	reroute_count(x->api, r);
	spec->on_mcp(spec->mcp_ctx, r, x->conversation, &caller);
	exchange_end(x);
}

static void find_home(struct exchange *x)
{
	reroute_home(x, pass_to_mcp);
}

/* The key is needed for sealed ids of sessions, and for signed links in the answers of tools. */
static void handle_mcp(struct exchange *x)
{
	if (x->api->spec.on_mcp)
		links_try(x, find_home);
	else
		exchange_problem(x, 404, "This server offers no MCP here.", NULL);
}

static const struct route_answer openapi_answers[] = { { 200, "Anything", NULL, "The description." }, { 0 } };
static const struct route_answer me_answers[] = { { 200, "Caller", NULL, "The caller." }, { 0 } };

#define MCP_ROUTE(the_method)                                                                                          \
	{                                                                                                              \
		.method = the_method, .path = REROUTE_PATH, .scope = SCOPE_RUN,                                        \
		.flags = ROUTE_RAW_BODY | ROUTE_HIDDEN | ROUTE_NO_COOKIE, .handle = handle_mcp                         \
	}

const struct route routes_meta[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/openapi.json",
	  .flags = ROUTE_OPEN,
	  .name = "getDescription",
	  .tag = "server",
	  .summary = "This description",
	  .answers = openapi_answers,
	  .handle = get_openapi },
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/me",
	  .name = "getCaller",
	  .tag = "server",
	  .summary = "The tenant and the scopes of the key",
	  .answers = me_answers,
	  .example = "",
	  .handle = get_me },
	{ .method = HTTP_METHOD_GET,
	  .path = "/.well-known/{path...}",
	  .flags = ROUTE_OPEN | ROUTE_HIDDEN,
	  .handle = get_well_known },
	MCP_ROUTE(HTTP_METHOD_POST),
	MCP_ROUTE(HTTP_METHOD_GET),
	MCP_ROUTE(HTTP_METHOD_DELETE),
	{ 0 },
};
