/* Routes of secrets. Values are taken, and never shown. The value of a PUT is not kept for repeated requests, as the body
 * of a POST would be: a repeated PUT has the same effect. */
#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "manager/json/codec.h"

#define PLACE_MAX_BYTES 64

struct secret_query {
	const char *tenant;
};

struct set_body {
	const char *value, *header, *query, *basic;
	json_t *hosts;
};

static const struct arg query_table[] = { { "tenant", ARG_STRING, offsetof(struct secret_query, tenant), ARG_NONEMPTY,
					    .max = TENANT_NAME_MAX, .description = "Another tenant, for the operator.",
					    .example = "\"acme\"" },
					  { 0 } };

static const struct arg set_table[] = {
	{ "value", ARG_STRING, offsetof(struct set_body, value), ARG_REQUIRED | ARG_NONEMPTY, .max = SECRET_VALUE_MAX,
	  .description = "The value: 8 to 4,096 printable ASCII characters. No answer contains it.",
	  .example = "\"sk-0123456789\"" },
	{ "hosts", ARG_STRINGS, offsetof(struct set_body, hosts), ARG_REQUIRED, .max = SECRET_HOSTS_MAX,
	  .description = "The hosts that it is for: NAME or NAME:PORT; port 443 by default.",
	  .example = "[\"api.openai.com\"]" },
	{ "header", ARG_STRING, offsetof(struct set_body, header), ARG_NONEMPTY, .max = PLACE_MAX_BYTES,
	  .description = "Use it in this header. Without any place, it is used in all headers.",
	  .example = "\"authorization\"" },
	{ "query", ARG_STRING, offsetof(struct set_body, query), ARG_NONEMPTY, .max = PLACE_MAX_BYTES,
	  .description = "Use it in this parameter of the address.", .example = "\"key\"" },
	{ "basic", ARG_STRING, offsetof(struct set_body, basic), ARG_NONEMPTY, .max = PLACE_MAX_BYTES,
	  .description = "Use it as the password of this user (HTTP Basic).", .example = "\"git\"" },
	{ 0 },
};

static const char *tenant_for(struct exchange *x)
{
	return exchange_tenant(x, ((const struct secret_query *)x->query)->tenant);
}

/* --- list ---------------------------------------------------------------------------------------------------------- */

static void listed(void *ctx, const struct secret_info *v, size_t n, const struct fail *f)
{
	struct exchange *x = ctx;
	if (!exchange_resume(x, f))
		return;
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, secret_info_encode(&v[i]));
	exchange_reply(x, 200, json_pack("{s:o}", "secrets", list));
}

static void get_secrets(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct secrets_request request = { .tenant = tenant_for(x), .on_done = listed, .ctx = x };
	if (!request.tenant)
		return;
	exchange_await(x, manager_secrets(x->api->spec.manager, &request, &f), &f);
}

/* --- set ----------------------------------------------------------------------------------------------------------- */

static void stored(void *ctx, const struct secret_info *info, const struct fail *f)
{
	struct exchange *x = ctx;
	if (exchange_resume(x, f))
		exchange_reply(x, 200, secret_info_encode(info));
}

static void put_secret(struct exchange *x)
{
	const struct set_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) const char **hosts = strings_decode(body->hosts);
	struct set_secret_request request = { .info = { .name = x->captures[0],
							.tenant = tenant_for(x),
							.header = body->header,
							.query = body->query,
							.basic = body->basic },
					      .hosts = hosts,
					      .n_hosts = json_array_size(body->hosts),
					      .value = body->value,
					      .on_done = stored,
					      .ctx = x };
	if (!request.info.tenant)
		return;
	exchange_await(x, manager_set_secret(x->api->spec.manager, &request, &f), &f);
}

/* --- remove -------------------------------------------------------------------------------------------------------- */

static void delete_secret(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct remove_secret_request request = {
		.tenant = tenant_for(x), .name = x->captures[0], .on_done = exchange_on_done, .ctx = x
	};
	if (!request.tenant)
		return;
	exchange_await(x, manager_remove_secret(x->api->spec.manager, &request, &f), &f);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer list_answers[] = { { 200, "Secrets", NULL, "The secrets, by name." }, { 0 } };
static const struct route_answer set_answers[] = { { 200, "Secret", NULL, "The secret is stored." }, { 0 } };
static const struct route_answer remove_answers[] = { { 204, NULL, NULL, "No session can use the secret any more." },
						      { 0 } };

const struct route routes_secrets[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/secrets",
	  .scope = SCOPE_SECRETS,
	  .name = "listSecrets",
	  .tag = "secrets",
	  .summary = "List the secrets of the tenant, without their values",
	  .query = query_table,
	  .query_size = sizeof(struct secret_query),
	  .answers = list_answers,
	  .example = "",
	  .handle = get_secrets },
	{ .method = HTTP_METHOD_PUT,
	  .path = "/v1/secrets/{secret}",
	  .scope = SCOPE_SECRETS,
	  .name = "setSecret",
	  .tag = "secrets",
	  .summary = "Store a secret, or replace it",
	  .text = "Sessions that are created with this secret use its value in requests to its hosts, and never see it. The name "
		  "is that of a variable: letters, digits and `_`. docs/secrets.md describes secrets.",
	  .query = query_table,
	  .query_size = sizeof(struct secret_query),
	  .body = set_table,
	  .body_size = sizeof(struct set_body),
	  .answers = set_answers,
	  .handle = put_secret },
	{ .method = HTTP_METHOD_DELETE,
	  .path = "/v1/secrets/{secret}",
	  .scope = SCOPE_SECRETS,
	  .name = "removeSecret",
	  .tag = "secrets",
	  .summary = "Remove a secret",
	  .query = query_table,
	  .query_size = sizeof(struct secret_query),
	  .answers = remove_answers,
	  .handle = delete_secret },
	{ 0 },
};
