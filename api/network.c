/* Routes of a session's gate: what it lets through, its connections, and changes by a person. */
#include "api/host.h"
#include "api/route.h"
#include "manager/json/codec.h"

#define CHANGES_MAX 64

struct network_query {
	const char *check;
};

struct network_body {
	json_t *allow, *deny;
};

static const struct arg network_query_table[] = {
	{ "check", ARG_STRING, offsetof(struct network_query, check), ARG_NONEMPTY, .max = 300,
	  .description = "A host, such as api.example.com or db.example.com:5432: which rule decides about it.",
	  .example = "api.example.com" },
	{ 0 },
};

static const struct arg network_table[] = {
	{ "allow", ARG_STRINGS, offsetof(struct network_body, allow), .max = CHANGES_MAX,
	  .description = "Hosts that the session may reach from now on.", .example = "[\"files.example.net\"]" },
	{ "deny", ARG_STRINGS, offsetof(struct network_body, deny), .max = CHANGES_MAX,
	  .description = "Hosts that it may no longer reach; their connections are reset.",
	  .example = "[\"api.example.com\"]" },
	{ 0 },
};

static void shown(void *ctx, const struct network_info *info, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, f))
		exchange_reply(x, 200, network_info_encode(info));
}

static void show(struct exchange *x, const struct network_request *request)
{
	AUTO(fail_release) struct fail f = { 0 };
	exchange_await(x, manager_network(x->conversation, request, &f), &f);
}

static void get_network(struct exchange *x)
{
	const struct network_query *query = x->query;
	show(x,
	     &(struct network_request){ .session_id = x->session, .check = query->check, .on_done = shown, .ctx = x });
}

static void patch_network(struct exchange *x)
{
	const struct network_body *body = x->args;
	AUTO(strv_release) struct strv allow = { 0 }, deny = { 0 };
	show(x, &(struct network_request){ .session_id = x->session,
					   .allow = hosts_decode(body->allow, &allow),
					   .deny = hosts_decode(body->deny, &deny),
					   .on_done = shown,
					   .ctx = x });
}

static const struct route_answer answers[] = { { 200, "Network", NULL, "The network of the session." }, { 0 } };

const struct route routes_network[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/sessions/{session}/network",
	  .scope = SCOPE_SESSIONS_READ,
	  .flags = ROUTE_SESSION,
	  .name = "getNetwork",
	  .tag = "sessions",
	  .summary = "Show which hosts a session reaches, its connections, and what was refused",
	  .query = network_query_table,
	  .query_size = sizeof(struct network_query),
	  .answers = answers,
	  .example = "",
	  .handle = get_network },
	{ .method = HTTP_METHOD_PATCH,
	  .path = "/v1/sessions/{session}/network",
	  .scope = SCOPE_SETTINGS,
	  .flags = ROUTE_SESSION,
	  .name = "changeNetwork",
	  .tag = "sessions",
	  .summary = "Allow or refuse hosts from now on",
	  .text = "Only for sessions that were created with a list of hosts, or without a network. The change may go beyond "
		  "CONTAINER_NETWORK_ALLOW, so it needs the scope of settings.",
	  .body = network_table,
	  .body_size = sizeof(struct network_body),
	  .answers = answers,
	  .example = "-X PATCH --json '{\"allow\": [\"files.example.net\"]}'",
	  .handle = patch_network },
	{ 0 },
};
