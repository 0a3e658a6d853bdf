/* Logs browsers in. `husk ui` gets a code from this server and gives it to the browser in the fragment of an address,
 * which browsers do not send to servers. The page changes the code, or a key that a person types, into a cookie. */
#include "api/login.h"
#include "api/cookie.h"
#include "api/host.h"
#include "api/route.h"
#include "base/alloc.h"
#include "base/json.h"

#define CODES_MAX 16
#define CODE_SECONDS 300
#define BROWSER_MAX 40

/* A code that was not used yet. */
struct login_code {
	struct list node;
	char text[MANAGER_SECRET_SIZE];
	char *tenant;
	unsigned scopes;
	bool own;
	uint64_t until_ms;
};

struct login_body {
	const char *code, *key, *browser;
};

static const struct arg login_table[] = {
	{ "code", ARG_STRING, offsetof(struct login_body, code), ARG_NONEMPTY, .max = MANAGER_SECRET_SIZE,
	  .description = "The code of POST /v1/logins.", .example = "\"k3v…\"" },
	{ "key", ARG_STRING, offsetof(struct login_body, key), ARG_NONEMPTY, .max = 256,
	  .description = "A key, instead of a code.", .example = "\"husk_…\"" },
	{ "browser", ARG_STRING, offsetof(struct login_body, browser), ARG_NONEMPTY, .max = BROWSER_MAX,
	  .description = "Name of the browser, for the list of keys.", .example = "\"Firefox on Linux\"" },
	{ 0 },
};

/* --- codes --------------------------------------------------------------------------------------------------------- */

static void code_free(struct login_code *c)
{
	list_remove(&c->node);
	explicit_bzero(c->text, sizeof(c->text));
	free(c->tenant);
	free(c);
}

void login_codes_drop(struct api *api)
{
	list_for_each(c, &api->codes, struct login_code, node)
		code_free(c);
}

static void drop_old(struct api *api)
{
	size_t n = list_length(&api->codes);
	uint64_t now = loop_now_ms();
	list_for_each(c, &api->codes, struct login_code, node)
		if (c->until_ms <= now || n-- > CODES_MAX - 1)
			code_free(c);
}

/* The code, which cannot be used again; NULL = it is not valid. */
static struct login_code *take_code(struct api *api, const char *text)
{
	drop_old(api);
	list_for_each(c, &api->codes, struct login_code, node) {
		if (manager_secrets_equal(c->text, text)) {
			list_remove(&c->node);
			list_init(&c->node);
			return c;
		}
	}
	return NULL;
}

static const char *origin_of(const struct api *api)
{
	const char *base = api->spec.config->api_base_url;
	if (base && *base)
		return base;
	struct listener_tag *tag = list_first(&api->listeners, struct listener_tag, node);
	return tag ? tag->origin : NULL;
}

static void post_code(struct exchange *x)
{
	struct api *api = x->api;
	const char *origin = origin_of(api);
	if (!api->spec.page || !origin) {
		exchange_problem(x, 404, "This server has no page.", "Start `husk serve`.");
		return;
	}
	drop_old(api);
	struct login_code *c = new0(struct login_code);
	manager_make_secret(c->text);
	c->tenant = xstrdup(x->caller.tenant);
	c->scopes = x->caller.scopes;
	c->own = !x->caller.conversation;
	c->until_ms = loop_now_ms() + CODE_SECONDS * 1000;
	list_append(&api->codes, &c->node);
	json_t *out =
		json_pack("{s:s, s:i, s:o}", "code", c->text, "expires_seconds", CODE_SECONDS, "url",
			  json_sprintf("%.*s/ui/#code=%s", (int)(strlen(origin) - (origin[strlen(origin) - 1] == '/')),
				       origin, c->text));
	exchange_reply(x, 201, out);
}

/* --- login --------------------------------------------------------------------------------------------------------- */

static json_t *caller_json(const char *tenant, unsigned scopes)
{
	json_t *list = json_array();
	for (unsigned bit = 1; bit <= SCOPE_ADMIN; bit <<= 1)
		if (scopes & bit)
			json_array_append_new(list, json_string(scope_name((enum scope)bit)));
	return json_pack("{s:o, s:o}", "tenant", json_text(tenant), "scopes", list);
}

static void on_added(void *ctx, const char *key, const struct key_info *info, const struct fail *f)
{
	struct exchange *x = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	x->op = NULL;
	if (!key) {
		exchange_fail(x, f);
		return;
	}
	cookie_set(x, &fields, key);
	exchange_reply_fields(x, 200, &fields, caller_json(info->tenant, info->scopes));
}

/* Makes a key for this browser alone. */
static void add_key(struct exchange *x, const char *tenant, unsigned scopes, bool own)
{
	const struct login_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	char random[MANAGER_SECRET_SIZE];
	manager_make_secret(random);
	AUTO(freep) char *name = xasprintf("%s, %.6s", body->browser ? body->browser : "browser", random);
	struct add_key_request request = {
		.name = name, .tenant = tenant, .scopes = scopes, .own = own, .on_done = on_added, .ctx = x
	};
	x->op = manager_add_key(x->api->spec.manager, &request, &f);
	if (!x->op)
		exchange_fail(x, &f);
}

static void refuse(struct exchange *x, const char *detail)
{
	exchange_problem(x, 401, detail, "`husk ui` opens the page with a new code.");
}

static void on_checked(void *ctx, const struct key_info *info, const struct fail *f)
{
	struct exchange *x = ctx;
	x->op = NULL;
	if (f)
		exchange_fail(x, f);
	else if (!info)
		refuse(x, "The key is not valid.");
	else
		add_key(x, info->tenant, info->scopes, !info->conversation);
}

/* The browser must be showing our page: a page of another site must not log a person in. */
static bool from_page(struct exchange *x)
{
	const char *site = exchange_field(x, "sec-fetch-site");
	if (exchange_field(x, "origin") && (!site || streq(site, "same-origin")))
		return true;
	exchange_problem(x, 403, "Only the page can log in.", "Programs send the header Authorization: Bearer KEY.");
	return false;
}

static void post_login(struct exchange *x)
{
	const struct login_body *body = x->args;
	AUTO(fail_release) struct fail f = { 0 };
	if (!from_page(x))
		return;
	if (body->code) {
		struct login_code *c = take_code(x->api, body->code);
		if (!c) {
			refuse(x, "This link was used already, or it has expired.");
			return;
		}
		add_key(x, c->tenant, c->scopes, c->own);
		code_free(c);
		return;
	}
	struct check_key_request check = { .key = body->key ? body->key : "", .on_done = on_checked, .ctx = x };
	x->op = manager_check_key(x->api->spec.manager, &check, &f);
	if (!x->op)
		exchange_fail(x, &f);
}

static void on_removed(void *ctx, const struct fail *f)
{
	struct exchange *x = ctx;
	AUTO(http_fields_release) struct http_fields fields = { 0 };
	x->op = NULL;
	if (f && f->kind != FAIL_NOT_FOUND) {
		exchange_fail(x, f);
		return;
	}
	cookie_set(x, &fields, NULL);
	exchange_reply_text(x, 204, &fields, NULL, NULL, 0);
}

static void delete_login(struct exchange *x)
{
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(freep) char *cookie = cookie_key(x);
	if (!cookie || !x->caller.key || exchange_field(x, "authorization")) {
		exchange_problem(x, 409, "This request has no cookie, so there is no login to end.", NULL);
		return;
	}
	struct remove_key_request request = {
		.tenant = x->caller.tenant, .key = x->caller.key, .on_done = on_removed, .ctx = x
	};
	x->op = manager_remove_key(x->api->spec.manager, &request, &f);
	if (!x->op)
		exchange_fail(x, &f);
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

static const struct route_answer code_answers[] = {
	{ 201, "Anything", NULL, "`url` opens the page. It works once, within five minutes." }, { 0 }
};
static const struct route_answer login_answers[] = { { 200, "Caller", NULL, "The cookie is set." }, { 0 } };
static const struct route_answer logout_answers[] = { { 204, NULL, NULL, "The cookie is not valid any more." }, { 0 } };

const struct route routes_login[] = {
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/logins",
	  .scope = SCOPE_KEYS,
	  .flags = ROUTE_NO_COOKIE,
	  .name = "makeLogin",
	  .tag = "keys",
	  .summary = "Make an address that logs a browser in, as `husk ui` does",
	  .answers = code_answers,
	  .handle = post_code },
	{ .method = HTTP_METHOD_POST,
	  .path = "/v1/login",
	  .flags = ROUTE_OPEN,
	  .name = "logIn",
	  .tag = "keys",
	  .summary = "Exchange a code or a key for the cookie of the page",
	  .text = "Only for the page itself. The cookie holds a new key, which the list of keys shows.",
	  .body = login_table,
	  .body_size = sizeof(struct login_body),
	  .answers = login_answers,
	  .handle = post_login },
	{ .method = HTTP_METHOD_DELETE,
	  .path = "/v1/login",
	  .name = "logOut",
	  .tag = "keys",
	  .summary = "Remove the key of the cookie",
	  .answers = logout_answers,
	  .handle = delete_login },
	{ 0 },
};
