/* Routes of keys. A key can make keys for its own tenant, with scopes that it has itself. With the scope `admin` it can
 * give any scope. Such a key of the tenant `local` belongs to the operator, and can manage keys of any tenant. */
#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/json.h"
#include "manager/json/codec.h"

#define NAME_MAX_BYTES 64
#define SCOPES_MAX 16

struct key_query {
	const char *tenant;
};

struct add_body {
	const char *name, *tenant;
	json_t *scopes;
	int64_t max_sessions, max_streams;
	uint64_t max_memory, max_exports;
};

#define ARG_TENANT(type)                                                                                               \
	{                                                                                                              \
		"tenant", ARG_STRING, offsetof(type, tenant), ARG_NONEMPTY,                                            \
			.max = TENANT_NAME_MAX, .description = "Another tenant, for the operator.",                    \
			.example = "\"acme\""                                                                          \
	}

static const struct arg query_table[] = { ARG_TENANT(struct key_query), { 0 } };

static const struct arg add_table[] = {
	{ "name", ARG_STRING, offsetof(struct add_body, name), ARG_REQUIRED | ARG_NONEMPTY, .max = NAME_MAX_BYTES,
	  .description = "A name for people, unique in the tenant.", .example = "\"laptop\"" },
	{ "scopes", ARG_STRINGS, offsetof(struct add_body, scopes), .max = SCOPES_MAX,
	  .description = "Scopes of the key. By default it can do everything with sessions, as far as the caller can.",
	  .example = "[\"sessions:read\", \"run\"]" },
	ARG_TENANT(struct add_body),
	{ "max_sessions", ARG_INT, offsetof(struct add_body, max_sessions), .min = 1, .max = UINT32_MAX,
	  .description = "New limit of the tenant: sessions. Limits are for the operator.", .example = "10" },
	{ "max_memory", ARG_SIZE, offsetof(struct add_body, max_memory),
	  .description = "New limit of the tenant: memory of all sessions.", .example = "\"16g\"" },
	{ "max_streams", ARG_INT, offsetof(struct add_body, max_streams), .min = 1, .max = UINT32_MAX,
	  .description = "New limit of the tenant: streams of events and terminals.", .example = "20" },
	{ "max_exports", ARG_SIZE, offsetof(struct add_body, max_exports),
	  .description = "New limit of the tenant: bytes of all exports.", .example = "\"10g\"" },
	{ 0 },
};

/* --- list ---------------------------------------------------------------------------------------------------------- */

static void listed(void *ctx, const struct key_info *v, size_t n, const struct fail *f)
{
	struct exchange *x = ctx;
	if (!exchange_resume(x, f))
		return;
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, key_info_encode(&v[i]));
	exchange_reply(x, 200, json_pack("{s:o}", "keys", list));
}

static void get_keys(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	const char *tenant = exchange_tenant(x, ((const struct key_query *)x->query)->tenant);
	if (!tenant)
		return;
	struct keys_request request = { .tenant = tenant, .on_done = listed, .ctx = x };
	exchange_await(x, manager_keys(x->api->spec.manager, &request, &f), &f);
}

/* --- add ----------------------------------------------------------------------------------------------------------- */

static void added(void *ctx, const char *key, const struct key_info *info, const struct fail *f)
{
	struct exchange *x = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	if (!exchange_resume(x, f))
		return;
	json_t *out = key_info_encode(info);
	json_object_set_new(out, "key", json_text(key));
	http_fields_addf(&fields, "Location", "/v1/keys/%s", info->id);
	exchange_reply_fields(x, 201, &fields, out);
}

/* False: the exchange is answered. */
static bool take_scopes(struct exchange *x, const json_t *names, unsigned *ret)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf text = { 0 };
	bool admin = scopes_allow(x->caller.scopes, SCOPE_ADMIN);
	*ret = admin ? SCOPES_DEFAULT : SCOPES_DEFAULT & x->caller.scopes;
	for (size_t i = 0; i < json_array_size(names); i++)
		buf_printf(&text, "%s ", json_string_value(json_array_get(names, i)));
	if (names && scopes_parse(buf_str(&text), ret, &f) < 0) {
		exchange_fail(x, &f);
		return false;
	}
	if (admin || !(*ret & ~x->caller.scopes))
		return true;
	exchange_problem(x, 403, "A key cannot give scopes that it lacks.", "GET /v1/me lists the scopes of this key.");
	return false;
}

static void post_key(struct exchange *x)
{
	const struct add_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	struct tenant_limits limits = { .sessions = (uint64_t)body->max_sessions,
					.memory = body->max_memory,
					.streams = (uint64_t)body->max_streams,
					.exports = body->max_exports };
	bool limited = limits.sessions || limits.memory || limits.streams || limits.exports;
	struct add_key_request request = { .name = body->name,
					   .tenant = exchange_tenant(x, body->tenant),
					   .limits = limited ? &limits : NULL,
					   .on_done = added,
					   .ctx = x };
	if (!request.tenant || !take_scopes(x, body->scopes, &request.scopes))
		return;
	if (limited && !caller_is_operator(&x->caller)) {
		exchange_problem(x, 403, "Only the operator sets the limits of a tenant.", NULL);
		return;
	}
	exchange_await(x, manager_add_key(x->api->spec.manager, &request, &f), &f);
}

/* --- remove -------------------------------------------------------------------------------------------------------- */

static void delete_key(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	const char *tenant = exchange_tenant(x, ((const struct key_query *)x->query)->tenant);
	if (!tenant)
		return;
	struct remove_key_request request = {
		.tenant = tenant, .key = x->captures[0], .on_done = exchange_on_done, .ctx = x
	};
	exchange_await(x, manager_remove_key(x->api->spec.manager, &request, &f), &f);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer list_answers[] = { { 200, "Keys", NULL, "The keys, oldest first." }, { 0 } };
static const struct route_answer add_answers[] = { { 201, "Key", NULL, "The key. `key` is its only copy." }, { 0 } };
static const struct route_answer remove_answers[] = { { 204, NULL, NULL, "The key is no longer valid." }, { 0 } };

const struct route routes_keys[] = {
	{ .method = HTTP_METHOD_GET,
	  .path = "/v1/keys",
	  .scope = SCOPE_KEYS,
	  .name = "listKeys",
	  .tag = "keys",
	  .summary = "List the keys of the tenant",
	  .query = query_table,
	  .query_size = sizeof(struct key_query),
	  .answers = list_answers,
	  .example = "",
	  .handle = get_keys },
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/keys",
	  .scope = SCOPE_KEYS,
	  .name = "addKey",
	  .tag = "keys",
	  .summary = "Make a key",
	  .text = "A key can make keys for its own tenant, with scopes that it has itself. With the scope `admin` it can give "
		  "any scope. Such a key of the tenant `local` can also make keys for other tenants.",
	  .body = add_table,
	  .body_size = sizeof(struct add_body),
	  .answers = add_answers,
	  .example = "--json '{\"name\": \"laptop\", \"scopes\": [\"sessions:read\", \"run\"]}'",
	  .handle = post_key },
	{ .method = HTTP_METHOD_DELETE,
	  .path = "/v1/keys/{key}",
	  .scope = SCOPE_KEYS,
	  .name = "removeKey",
	  .tag = "keys",
	  .summary = "Remove a key, by its id or name",
	  .query = query_table,
	  .query_size = sizeof(struct key_query),
	  .answers = remove_answers,
	  .handle = delete_key },
	{ 0 },
};
