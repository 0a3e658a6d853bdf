/* Routes of keys, settings and health: a key gives no more than it has, secrets stay, and tenants stay apart. */
#include <fcntl.h>
#include <netinet/in.h>

#include "api/route.h"
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

/* The status of a request for this host to a server whose address is `origin`. */
static int status_for(const char *origin, const struct strv *names, const char *host)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int status, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(api_listen_tcp(api, listener, NULL, origin, names), 0);
	AUTO(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	AUTO(freep) char *request = xasprintf("GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n", host);
	AUTO(buf_release) struct buf got = { 0 };
	api_send(fd, request);
	api_read_until(fd, &got, "\r\n\r\n");
	assert_int_equal(sscanf(buf_str(&got), "HTTP/1.1 %d", &status), 1);
	return status;
}

/* evidence: http-origin */
static void only_own_hosts_are_accepted(void **state)
{
	static const struct {
		const char *origin, *host;
		int status;
	} cases[] = {
		{ "http://127.0.0.1:80", "127.0.0.1:80", 200 },	    { "http://127.0.0.1:80", "LOCALHOST:80", 200 },
		{ "http://127.0.0.1:80", "127.0.0.1", 403 },	    { "http://127.0.0.1:80", "127.0.0.1:81", 403 },
		{ "http://127.0.0.1:80", "10.0.0.1:80", 403 },	    { "http://127.0.0.1:80", "any.example", 200 },
		{ "http://127.0.0.1:80", "ANY.example:9", 200 },    { "http://127.0.0.1:80", "any.example.org", 403 },
		{ "http://127.0.0.1:80", "one.example:8", 200 },    { "http://127.0.0.1:80", "one.example:80", 403 },
		{ "http://127.0.0.1:80", "one.example", 403 },	    { "http://127.0.0.1:80", "[fd00::1]:8", 200 },
		{ "http://127.0.0.1:80", "[fd00::2]", 403 },	    { "https://0.0.0.0:80", "10.0.0.1:80", 200 },
		{ "https://0.0.0.0:80", "localhost:80", 200 },	    { "https://0.0.0.0:80", "evil.example:80", 403 },
		{ "https://0.0.0.0:80", "10.0.0.1.evil.org", 403 }, { "https://[::]:80", "[2001:db8::1]:80", 200 },
		{ "https://[::]:80", "[2001:db8::1", 403 },	    { "https://[::]:80", "1:2:3:4", 403 },
		{ "https://[::]:80", "[2001:db8::1]x", 403 },
	};
	AUTO(strv_release) struct strv names = { 0 };
	strv_add(&names, "any.example");
	strv_add(&names, "one.example:8");
	strv_add(&names, "[fd00::1]");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int status = status_for(cases[i].origin, &names, cases[i].host);
		if (status != cases[i].status)
			fail_msg("%s, %s: %d", cases[i].origin, cases[i].host, status);
	}
}

/* The route's path with "1" for everything in braces, below /workspace if it is the path of a file. The caller owns it. */
static char *target_of(const struct route *route)
{
	struct buf out = { 0 };
	for (const char *p = route->path; *p; p++) {
		if (strncmp(p, "{path...}", 9) == 0)
			buf_add_str(&out, "workspace/");
		buf_printf(&out, "%c", *p == '{' ? '1' : *p);
		if (*p == '{')
			p = strchr(p, '}');
	}
	return buf_steal_str(&out);
}

static struct reply ask(const struct route *route, const char *key)
{
	AUTO(freep) char *target = target_of(route);
	/* No route accepts this body, so nothing is done. */
	return api_call_remote(http_method_text(route->method), target, key, route->body ? "{\"wrong\": 1}" : NULL);
}

/* keys[i] has the scope 1 << i only, and others[i] has all scopes without it. */
static void check_scope(const struct route *route, char *const *keys, char *const *others)
{
	unsigned i = (unsigned)__builtin_ctz(route->scope);
	AUTO(reply_release) struct reply none = ask(route, NULL);
	AUTO(reply_release) struct reply other = ask(route, others[i]);
	if (none.status != 401 || !streq(text_of(&none, "cause"), "no_key"))
		fail_msg("%s without a key: %d", route->path, none.status);
	if (other.status != 403 || !strstr(text_of(&other, "detail"), scope_name(route->scope)))
		fail_msg("%s without its scope: %d", route->path, other.status);
	if (route->name && streq(route->name, "runDoctor"))
		return; /* it asks the engine of this machine */
	AUTO(reply_release) struct reply own = ask(route, keys[i]);
	if (own.status == 401 || own.status == 403)
		fail_msg("%s with its scope: %d", route->path, own.status);
}

/* evidence: http-scopes */
static void each_route_needs_its_scope(void **state)
{
	char *keys[16], *others[16];
	size_t n = 0, checked = 0;
	const struct route *route;
	for (unsigned bit = 1; bit <= SCOPE_ADMIN; bit <<= 1, n++) {
		AUTO(freep) char *name = xasprintf("only %zu", n);
		AUTO(freep) char *other = xasprintf("without %zu", n);
		keys[n] = api_key(name, "acme", bit);
		others[n] = api_key(other, "acme", SCOPES_ALL & ~bit & ~(unsigned)SCOPE_ADMIN);
	}
	for (size_t i = 0; (route = route_nth(i)); i++) {
		if (route->flags & ROUTE_OPEN)
			continue;
		if (route->scope)
			check_scope(route, keys, others);
		else
			assert_true(streq(route->path, "/v1/me") || streq(route->path, "/v1/login"));
		checked++;
	}
	assert_true(checked > 40);
	for (size_t i = 0; i < n; i++) {
		free(keys[i]);
		free(others[i]);
	}
}

static void a_secret_is_stored_and_never_shown(void **state)
{
	AUTO(freep) char *key = api_key("one", "acme", SCOPE_SECRETS), *other = api_key("two", "other", SCOPE_SECRETS);
	AUTO(freep) char *plain = api_key("three", "acme", SCOPES_DEFAULT);
	static const char body[] = "{\"value\": \"canary-value\", \"hosts\": [\"a.example\"], \"header\": \"X-Key\"}";
	AUTO(reply_release) struct reply made = api_call_remote("PUT", "/v1/secrets/TOKEN", key, body);
	assert_int_equal(made.status, 200);
	assert_string_equal(text_of(&made, "header"), "x-key");
	AUTO(reply_release) struct reply list = api_call_remote("GET", "/v1/secrets", key, NULL);
	assert_int_equal(json_array_size(json_object_get(list.json, "secrets")), 1);
	assert_null(strstr(made.body, "canary"));
	assert_null(strstr(list.body, "canary"));
	AUTO(reply_release) struct reply foreign = api_call_remote("GET", "/v1/secrets", other, NULL);
	assert_int_equal(json_array_size(json_object_get(foreign.json, "secrets")), 0);
	AUTO(reply_release) struct reply named = api_call_remote("GET", "/v1/secrets?tenant=acme", other, NULL);
	assert_int_equal(named.status, 403);
	AUTO(reply_release) struct reply no = api_call_remote("GET", "/v1/secrets", plain, NULL);
	assert_int_equal(no.status, 403);
	AUTO(reply_release) struct reply gone = api_call_remote("DELETE", "/v1/secrets/TOKEN", key, NULL);
	assert_int_equal(gone.status, 204);
	AUTO(reply_release) struct reply again = api_call_remote("DELETE", "/v1/secrets/TOKEN", key, NULL);
	assert_int_equal(again.status, 404);
}

static void a_bad_secret_is_refused(void **state)
{
	static const char *const bodies[] = {
		"{\"value\": \"canary-value\", \"hosts\": []}",
		"{\"value\": \"canary-value\", \"hosts\": [\"*.example\"]}",
		"{\"value\": \"canary-value\", \"hosts\": [\"a.example:80\"]}",
		"{\"value\": \"canary\", \"hosts\": [\"a.example\"]}",
		"{\"value\": \"canary\\nvalue\", \"hosts\": [\"a.example\"]}",
		"{\"value\": \"canary-value\", \"hosts\": [\"a.example\"], \"header\": \"a b\"}",
	};
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		AUTO(reply_release) struct reply r = api_call("PUT", "/v1/secrets/TOKEN", NULL, bodies[i]);
		assert_int_equal(r.status, 400);
		assert_null(strstr(r.body, "canary"));
	}
	AUTO(reply_release) struct reply name =
		api_call("PUT", "/v1/secrets/1A", NULL, "{\"value\": \"canary-value\", \"hosts\": [\"a.example\"]}");
	assert_int_equal(name.status, 400);
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
		TEST(only_own_hosts_are_accepted),
		TEST(each_route_needs_its_scope),

		TEST(a_secret_is_stored_and_never_shown),
		TEST(a_bad_secret_is_refused),
		TEST(settings_hide_secrets),
		TEST(a_server_is_ready_if_store_and_engine_answer),
		TEST(usage_has_limits_and_memory),
		TEST(a_notebook_needs_kept_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
