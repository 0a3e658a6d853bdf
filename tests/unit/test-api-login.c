/* The page and its logins: a code works once, and the cookie works for nothing but the page. */
#include "base/alloc.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

#define SAME_ORIGIN "Sec-Fetch-Site: same-origin\r\n"

static const char *text_of(const struct reply *r, const char *name)
{
	const char *text = json_string_value(json_object_get(r->json, name));
	return text ? text : "";
}

/* The field Origin of the page, with its line end. The caller owns it. */
static char *origin_of(const char *url)
{
	return xasprintf("Origin: %.*s\r\n", (int)(strstr(url, "/ui/") - url), url);
}

struct login {
	char *url, *origin, *cookie; /* fields, each with its line end, except the address */
};

static void login_release(struct login *l)
{
	free(l->url);
	free(l->origin);
	free(l->cookie);
}

/* Logs in as the page does. */
static struct login log_in(void)
{
	struct login l = { 0 };
	AUTO(reply_release) struct reply open = api_call_remote("GET", "/healthz", NULL, NULL);
	AUTO(reply_release) struct reply made = api_call("POST", "/v1/logins", NULL, NULL);
	assert_int_equal(made.status, 201);
	l.url = xstrdup(text_of(&made, "url"));
	l.origin = origin_of(l.url);
	AUTO(freep) char *fields = xasprintf("%s" SAME_ORIGIN, l.origin);
	AUTO(freep) char *body =
		xasprintf("{\"code\": \"%s\", \"browser\": \"Firefox on Linux\"}", text_of(&made, "code"));
	AUTO(reply_release) struct reply in = api_call_remote("POST", "/v1/login", fields, body);
	assert_int_equal(in.status, 200);
	AUTO(freep) char *set = reply_field(&in, "Set-Cookie");
	assert_non_null(strstr(set, "HttpOnly; SameSite=Strict"));
	l.cookie = xasprintf("Cookie: other=1; %.*s\r\n", (int)strcspn(set, ";"), set);
	AUTO(reply_release) struct reply again = api_call_remote("POST", "/v1/login", fields, body);
	assert_int_equal(again.status, 401);
	return l;
}

/* evidence: page-code */
static void a_code_logs_one_browser_in(void **state)
{
	AUTO(login_release) struct login l = log_in();
	AUTO(freep) char *fields = xasprintf("%s" SAME_ORIGIN, l.cookie);
	AUTO(reply_release) struct reply me = api_call_remote("GET", "/v1/me", fields, NULL);
	assert_int_equal(me.status, 200);
	assert_string_equal(text_of(&me, "tenant"), "local");
	AUTO(reply_release) struct reply keys = api_call("GET", "/v1/keys", NULL, NULL);
	assert_non_null(strstr(keys.body, "Firefox on Linux"));
	/* A page of another site must not log a person in. */
	AUTO(reply_release) struct reply made = api_call("POST", "/v1/logins", NULL, NULL);
	AUTO(freep) char *body = xasprintf("{\"code\": \"%s\"}", text_of(&made, "code"));
	AUTO(reply_release) struct reply foreign =
		api_call_remote("POST", "/v1/login", "Sec-Fetch-Site: cross-site\r\n", body);
	assert_int_equal(foreign.status, 403);
}

/* evidence: page-cookie */
static void the_cookie_works_only_for_the_page(void **state)
{
	AUTO(login_release) struct login l = log_in();
	static const struct {
		const char *method, *target, *site;
		bool origin;
		int status;
	} cases[] = {
		{ "GET", "/v1/me", SAME_ORIGIN, false, 200 },
		{ "GET", "/v1/me", "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n", false, 200 },
		{ "GET", "/v1/me", "", false, 200 },
		{ "GET", "/v1/me", "Sec-Fetch-Site: cross-site\r\n", false, 403 },
		{ "GET", "/v1/me", "Sec-Fetch-Site: same-site\r\n", false, 403 },
		{ "GET", "/v1/me", "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: no-cors\r\n", false, 403 },
		{ "GET", "/v1/me", SAME_ORIGIN "Origin: null\r\n", false, 403 },
		{ "GET", "/v1/me", SAME_ORIGIN "Origin: http://evil.example\r\n", false, 403 },
		{ "DELETE", "/v1/sessions/none", SAME_ORIGIN, true, 404 },
		{ "DELETE", "/v1/sessions/none", SAME_ORIGIN, false, 403 },
		{ "DELETE", "/v1/sessions/none", "", false, 403 },
		{ "DELETE", "/v1/sessions/none", "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\n", true, 403 },
		{ "DELETE", "/v1/sessions/none", "Origin: null\r\n", false, 403 },
		{ "POST", "/mcp", SAME_ORIGIN, true, 403 },
		{ "POST", "/v1/logins", SAME_ORIGIN, true, 403 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(freep) char *fields =
			xasprintf("%s%s%s", l.cookie, cases[i].site, cases[i].origin ? l.origin : "");
		AUTO(reply_release) struct reply r = api_call_remote(cases[i].method, cases[i].target, fields, NULL);
		if (r.status != cases[i].status)
			fail_msg("%s %s %s: %d", cases[i].method, cases[i].target, cases[i].site, r.status);
	}
}

static void a_login_ends_with_its_key(void **state)
{
	AUTO(login_release) struct login l = log_in();
	AUTO(freep) char *fields = xasprintf("%s%s" SAME_ORIGIN, l.cookie, l.origin);
	AUTO(reply_release) struct reply out = api_call_remote("DELETE", "/v1/login", fields, NULL);
	assert_int_equal(out.status, 204);
	AUTO(freep) char *set = reply_field(&out, "Set-Cookie");
	assert_non_null(strstr(set, "Max-Age=0"));
	AUTO(reply_release) struct reply after = api_call_remote("GET", "/v1/me", fields, NULL);
	assert_int_equal(after.status, 401);
}

static void a_key_logs_in_with_its_own_scopes(void **state)
{
	AUTO(reply_release) struct reply made =
		api_call("POST", "/v1/keys", NULL, "{\"name\": \"guest\", \"scopes\": [\"sessions:read\"]}");
	AUTO(login_release) struct login l = log_in();
	AUTO(freep) char *fields = xasprintf("%s" SAME_ORIGIN, l.origin);
	AUTO(freep) char *body = xasprintf("{\"key\": \"%s\"}", text_of(&made, "key"));
	AUTO(reply_release) struct reply in = api_call_remote("POST", "/v1/login", fields, body);
	assert_int_equal(in.status, 200);
	assert_int_equal(json_array_size(json_object_get(in.json, "scopes")), 1);
	AUTO(reply_release) struct reply bad = api_call_remote("POST", "/v1/login", fields, "{\"key\": \"husk_a_b\"}");
	assert_int_equal(bad.status, 401);
}

static void the_page_has_a_policy_and_is_cached(void **state)
{
	static const struct {
		const char *target, *cache, *policy;
		int status;
	} cases[] = {
		{ "/ui/", "no-cache", "style-src 'self'; frame-ancestors 'none'", 200 },
		{ "/ui/sessions/abc/files?dir=/", "no-cache", "style-src 'self'; frame-ancestors 'none'", 200 },
		{ "/ui/terminal.html?session=a", "no-cache", "'unsafe-inline'; frame-ancestors 'self'", 200 },
		{ "/ui/a/app.0123.js", "public, max-age=31536000, immutable", "default-src 'none'", 200 },
		{ "/ui/a/app.9999.js", "no-store", "sandbox", 404 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(reply_release) struct reply r = api_call_remote("GET", cases[i].target, NULL, NULL);
		AUTO(freep) char *cache = reply_field(&r, "Cache-Control");
		AUTO(freep) char *policy = reply_field(&r, "Content-Security-Policy");
		assert_int_equal(r.status, cases[i].status);
		assert_string_equal(cache, cases[i].cache);
		assert_non_null(strstr(policy, cases[i].policy));
	}
	static const char *const shorter[] = { "/", "/ui" };
	for (size_t i = 0; i < ARRAY_LEN(shorter); i++) {
		AUTO(reply_release) struct reply r = api_call_remote("GET", shorter[i], NULL, NULL);
		AUTO(freep) char *location = reply_field(&r, "Location");
		assert_int_equal(r.status, 308);
		assert_string_equal(location, "/ui/");
	}
	AUTO(reply_release) struct reply plain = api_call_remote("GET", "/ui/", "Accept-Encoding: br\r\n", NULL);
	assert_int_equal(plain.status, 406);
	AUTO(reply_release) struct reply known = api_call_remote("GET", "/ui/", "If-None-Match: \"i\"\r\n", NULL);
	assert_int_equal(known.status, 304);
}

/* evidence: page-settings */
static void settings_that_name_programs_stay(void **state)
{
	AUTO(freep) char *admin = api_key("admin", "local", SCOPE_ADMIN);
	AUTO(freep) char *other = api_key("other", "local", SCOPE_SETTINGS);
	static const struct {
		bool admin;
		const char *body;
		int status;
	} cases[] = {
		{ false, "{\"name\": \"CONTAINER_MAX_SESSIONS\", \"value\": \"3\"}", 403 },
		{ true, "{\"name\": \"HUSK_DOCKER\", \"value\": \"/bin/sh\"}", 400 },
		{ true, "{\"name\": \"CONTAINER_RUNTIME\", \"value\": \"runc\"}", 400 },
		{ true, "{\"name\": \"IMPORT_ALLOWED_DIRS\", \"value\": \"/\"}", 400 },
		{ true, "{\"name\": \"STORAGE_DIR\", \"value\": \"/\"}", 400 },
		{ true, "{\"name\": \"DATABASE_URL\"}", 400 },
		{ true, "{\"name\": \"NO_SUCH_SETTING\", \"value\": \"3\"}", 400 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(reply_release) struct reply r =
			api_call_remote("PUT", "/v1/settings", cases[i].admin ? admin : other, cases[i].body);
		if (r.status != cases[i].status)
			fail_msg("%s: %d %s", cases[i].body, r.status, r.body);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_bench_begin, api_bench_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_code_logs_one_browser_in),	   TEST(the_cookie_works_only_for_the_page),
		TEST(a_login_ends_with_its_key),	   TEST(a_key_logs_in_with_its_own_scopes),
		TEST(the_page_has_a_policy_and_is_cached), TEST(settings_that_name_programs_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
