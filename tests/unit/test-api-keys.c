/* Routes of keys, settings and health: a key gives no more than it has, secrets stay, and tenants stay apart. */
#include <netinet/in.h>

#include "base/alloc.h"
#include "tests/unit/api-bench.h"
#include "tests/unit/unit.h"

static const char *text_of(const struct reply *r, const char *name)
{
	const char *text = json_string_value(json_object_get(r->json, name));
	return text ? text : "";
}

static void a_key_is_made_used_and_removed(void **state)
{
	AUTO(reply_release) struct reply made =
		api_call("POST", "/v1/keys", NULL, "{\"name\": \"laptop\", \"scopes\": [\"sessions:read\", \"run\"]}");
	assert_int_equal(made.status, 201);
	AUTO(freep) char *field = xasprintf("Authorization: Bearer %s\r\n", text_of(&made, "key"));
	AUTO(reply_release) struct reply me = api_call_remote("GET", "/v1/me", field, NULL);
	assert_int_equal(json_array_size(json_object_get(me.json, "scopes")), 2);
	AUTO(reply_release) struct reply list = api_call("GET", "/v1/keys", NULL, NULL);
	json_t *first = json_array_get(json_object_get(list.json, "keys"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "name")), "laptop");
	assert_null(json_object_get(first, "key"));
	assert_null(strstr(list.body, text_of(&made, "key")));
	AUTO(freep) char *path = xasprintf("/v1/keys/%s", text_of(&made, "id"));
	AUTO(reply_release) struct reply removed = api_call("DELETE", path, NULL, NULL);
	assert_int_equal(removed.status, 204);
	AUTO(reply_release) struct reply after = api_call_remote("GET", "/v1/me", field, NULL);
	assert_int_equal(after.status, 401);
	AUTO(reply_release) struct reply again = api_call("DELETE", path, NULL, NULL);
	assert_int_equal(again.status, 404);
}

static void a_key_gives_no_more_than_it_has(void **state)
{
	AUTO(freep) char *key = api_key("some", "acme", SCOPE_KEYS | SCOPE_RUN);
	AUTO(freep) char *admin = api_key("admin", "acme", SCOPE_ADMIN);
	static const struct {
		bool admin;
		const char *body;
		int status;
	} cases[] = {
		{ false, "{\"name\": \"a\", \"scopes\": [\"run\"]}", 201 },
		{ false, "{\"name\": \"b\", \"scopes\": [\"run\", \"admin\"]}", 403 },
		{ false, "{\"name\": \"c\", \"scopes\": [\"files:read\"]}", 403 },
		{ false, "{\"name\": \"d\", \"scopes\": [\"run\"], \"tenant\": \"other\"}", 403 },
		{ false, "{\"name\": \"e\", \"scopes\": [\"run\"], \"tenant\": \"local\"}", 403 },
		{ false, "{\"name\": \"f\", \"scopes\": [\"run\"], \"max_sessions\": 9}", 403 },
		{ false, "{\"name\": \"g\", \"scopes\": [\"walk\"]}", 400 },
		{ false, "{\"name\": \"h\", \"scopes\": [3]}", 400 },
		{ false, "{\"name\": \"i\", \"scopes\": []}", 400 },
		{ true, "{\"name\": \"j\", \"scopes\": [\"files:read\"]}", 201 },
		{ true, "{\"name\": \"k\", \"tenant\": \"local\"}", 403 },
		{ true, "{\"name\": \"l\", \"max_sessions\": 9}", 403 },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO(reply_release) struct reply r =
			api_call_remote("POST", "/v1/keys", cases[i].admin ? admin : key, cases[i].body);
		if (r.status != cases[i].status)
			fail_msg("%s: %d", cases[i].body, r.status);
	}
	/* Without scopes, a key gets those of its maker. */
	AUTO(reply_release) struct reply r = api_call_remote("POST", "/v1/keys", key, "{\"name\": \"m\"}");
	assert_int_equal(r.status, 201);
	assert_int_equal(json_array_size(json_object_get(r.json, "scopes")), 1);
}

static void keys_of_other_tenants_do_not_exist(void **state)
{
	AUTO(freep) char *key = api_key("one", "acme", SCOPE_KEYS);
	AUTO(freep) char *other = api_key("two", "other", SCOPE_KEYS);
	AUTO(reply_release) struct reply list = api_call_remote("GET", "/v1/keys", key, NULL);
	assert_int_equal(json_array_size(json_object_get(list.json, "keys")), 1);
	AUTO(reply_release) struct reply foreign = api_call_remote("DELETE", "/v1/keys/two", key, NULL);
	AUTO(reply_release) struct reply absent = api_call_remote("DELETE", "/v1/keys/nobody", key, NULL);
	assert_int_equal(foreign.status, 404);
	assert_int_equal(absent.status, 404);
	AUTO(reply_release) struct reply named = api_call_remote("GET", "/v1/keys?tenant=other", key, NULL);
	assert_int_equal(named.status, 403);
	AUTO(reply_release) struct reply seen = api_call("GET", "/v1/keys?tenant=other", NULL, NULL);
	assert_int_equal(json_array_size(json_object_get(seen.json, "keys")), 1);
}

static void a_tenant_uses_half_of_the_connections_at_most(void **state)
{
	AUTO(freep) char *key = api_key("one", "acme", SCOPE_SESSIONS_READ);
	AUTO(freep) char *other = api_key("two", "other", SCOPE_SESSIONS_READ);
	AUTO(buf_release) struct buf request = { 0 };
	struct sockaddr_in server;
	b.config.serve_max_connections = 2;
	AUTO(closep) int waiting = api_connect_remote();
	assert_int_equal(getpeername(waiting, (struct sockaddr *)&server, &(socklen_t){ sizeof(server) }), 0);
	buf_printf(&request, "GET /v1/events?after=now&wait=60 HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%s\r\n",
		   ntohs(server.sin_port), key);
	api_send(waiting, buf_str(&request));
	AUTO(reply_release) struct reply others = api_call_remote("GET", "/v1/sessions", other, NULL);
	assert_int_equal(others.status, 200);
	AUTO(reply_release) struct reply second = api_call_remote("GET", "/v1/sessions", key, NULL);
	assert_int_equal(second.status, 429);
	assert_string_equal(json_string_value(json_object_get(second.json, "cause")), "limit_tenant");
	AUTO(freep) char *retry = reply_field(&second, "retry-after");
	assert_non_null(retry);
}

static void settings_hide_secrets(void **state)
{
	AUTO(freep) char *key = api_key("one", TENANT_LOCAL, SCOPES_DEFAULT);
	AUTO(reply_release) struct reply r = api_call("GET", "/v1/settings", NULL, NULL);
	json_t *list = json_object_get(r.json, "settings"), *one;
	size_t i, secrets = 0;
	assert_int_equal(r.status, 200);
	assert_true(json_array_size(list) > 60);
	json_array_foreach(list, i, one) {
		bool secret = json_is_true(json_object_get(one, "secret"));
		secrets += secret;
		assert_true(secret == !json_object_get(one, "value"));
	}
	assert_true(secrets > 3);
	AUTO(reply_release) struct reply no = api_call_remote("GET", "/v1/settings", key, NULL);
	assert_int_equal(no.status, 403);
}

static void a_server_is_ready_if_store_and_engine_answer(void **state)
{
	AUTO(reply_release) struct reply r = api_call_remote("GET", "/readyz", NULL, NULL);
	assert_int_equal(r.status, 200);
	assert_string_equal(text_of(&r, "status"), "ready");
	fake_go_down(fake);
	AUTO(reply_release) struct reply no = api_call_remote("GET", "/readyz", NULL, NULL);
	AUTO(freep) char *retry = reply_field(&no, "Retry-After");
	assert_int_equal(no.status, 503);
	assert_non_null(retry);
	assert_string_equal(text_of(&no, "kind"), "engine");
}

static void usage_has_limits_and_memory(void **state)
{
	AUTO(freep) char *id = api_create();
	AUTO(freep) char *path = xasprintf("/v1/sessions/%s/usage", id);
	AUTO(reply_release) struct reply r = api_call("GET", path, NULL, NULL);
	assert_int_equal(r.status, 200);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(r.json, "usage"), "memory")), 5);
	assert_true(json_is_object(json_object_get(r.json, "limits")));
}

static void a_notebook_needs_kept_code(void **state)
{
	AUTO(freep) char *id = api_create();
	AUTO(freep) char *path = xasprintf("/v1/sessions/%s/notebook.ipynb", id);
	AUTO(reply_release) struct reply r = api_call("GET", path, NULL, NULL);
	assert_int_equal(r.status, 404);
	assert_non_null(strstr(text_of(&r, "hint"), "HISTORY_KEEPS_CODE"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_bench_begin, api_bench_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_key_is_made_used_and_removed),
		TEST(a_key_gives_no_more_than_it_has),
		TEST(keys_of_other_tenants_do_not_exist),
		TEST(a_tenant_uses_half_of_the_connections_at_most),
		TEST(settings_hide_secrets),
		TEST(a_server_is_ready_if_store_and_engine_answer),
		TEST(usage_has_limits_and_memory),
		TEST(a_notebook_needs_kept_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
