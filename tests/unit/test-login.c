/* Logins of package indexes: how settings become secrets of the gate (manager/deps/logins), and which requests get one
 * (manager/gate/login). */
#include "manager/deps/logins.h"
#include "manager/gate/login.h"
#include "manager/gate/plain.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static struct secret_set *take(struct strv *env, const char *source)
{
	AUTO(strv_release) struct strv sources = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	struct secret_set *set = secret_set_new();
	strv_add(&sources, source);
	assert_int_equal(logins_take(set, env, &sources, &f), 0);
	return set;
}

static void urls_with_a_login_become_secrets(void **state)
{
	AUTO(strv_release) struct strv env = { 0 }, hosts = { 0 };
	struct secret_set *set =
		take(&env, "A=https://me:s%40cret@Index.Example:443/team/x?x=1 https://open.example/simple/ "
			   "https://me:s%40cret@index.example/other/  http://token@h:8080 ssh://u:p@h/x");
	assert_int_equal(set->n, 2);
	assert_string_equal(set->v[0].name, "A");
	assert_string_equal(set->v[0].hosts.v[0], "index.example:443");
	assert_string_equal(set->v[0].basic, "me");
	assert_string_equal(set->v[0].value, "s@cret");
	assert_false(set->v[0].plain);
	assert_int_equal(set->v[0].paths.n, 2);
	assert_string_equal(set->v[0].paths.v[0], "/team/x/");
	assert_string_equal(set->v[1].hosts.v[0], "h:8080");
	assert_string_equal(set->v[1].basic, "token");
	assert_string_equal(set->v[1].value, "");
	assert_true(set->v[1].plain);
	assert_string_equal(set->v[1].paths.v[0], "/");
	assert_string_equal(env.v[0], "A=https://Index.Example:443/team/x?x=1 https://open.example/simple/ "
				      "https://index.example/other/  http://h:8080 ssh://h/x");
	logins_hosts(set, &hosts);
	assert_int_equal(hosts.n, 2);
	secret_set_unref(set);
}

static void another_login_makes_another_secret(void **state)
{
	AUTO(strv_release) struct strv env = { 0 };
	struct secret_set *set = take(&env, "A=https://a:b@h/x/ https://c:d@h/y/");
	assert_int_equal(set->n, 2);
	assert_ptr_equal(login_for(set, "h", 443, "/x/z"), &set->v[0]);
	assert_ptr_equal(login_for(set, "h", 443, "/y/z?q"), &set->v[1]);
	assert_null(login_for(set, "h", 443, "/z"));
	assert_null(login_for(set, "h", 80, "/x/z"));
	assert_null(login_for(set, "g", 443, "/x/z"));
	assert_true(login_guards(set, "h", 443));
	assert_false(login_guards(set, "h", 80));
	secret_set_unref(set);
}

static void invalid_urls_are_reported_without_the_login(void **state)
{
	static const char *const bad[] = {
		"A=https://u:geheim@/x",
		"A=https://u:geheim@h/../x",
		"A=https://u:geheim@h!/",
		"A=https://u:geheim@h/a;x=1/b",
		"A=https://u:geheim@h/a%3bx/b",
		"A=https://u:geheim@h/a\\b",
		"A=https://u:geheim@h/a%5Cb",
		"A=https://u:geheim@h/a%00b",
		"A=https://u:geheim@h/a%0ab",
		"A=https://u:geheim@h/a%7fb",
		"A=https://u:geheim@h/%2e%2e/b",
		"A=https://u:geheim@10.1.2.3/x",
		"A=https://u:geheim@[fd00::1]/x",
		"A=http://u:geheim@localhost:8080/x",
		"A=https://u:geheim@a/ https://u:geheim@b/ https://u:geheim@c/ https://u:geheim@d/ https://u:geheim@e/ "
		"https://u:geheim@f/ https://u:geheim@g/ https://u:geheim@h/ https://u:geheim@i/"
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(strv_release) struct strv env = { 0 }, sources = { 0 };
		AUTO(fail_release) struct fail f = { 0 };
		struct secret_set *set = secret_set_new();
		strv_add(&sources, bad[i]);
		assert_int_equal(logins_take(set, &env, &sources, &f), -1);
		assert_non_null(strstr(f.message, "setting A"));
		assert_null(strstr(f.message, "geheim"));
		secret_set_unref(set);
	}
}

/* evidence: index-paths */
static void ambiguous_paths_are_rejected(void **state)
{
	static const struct {
		const char *target, *path;
	} paths[] = {
		{ "/simple/x/?q=../..", "/simple/x/" },
		{ "/@scope%2fname", "/@scope/name" },
		{ "/a%20b+c#f", "/a b+c" },
		{ "/..x/y..", "/..x/y.." },
		{ "/@a-b_c%2Fd.js/-/d-1.0.tgz", "/@a-b_c/d.js/-/d-1.0.tgz" },
		{ "/c%2B%2B%40x", "/c++@x" },
		{ "/given%2fby/settings/x", "/given/by/settings/x" },
		{ "/given%2fby/settings/x%2fy", NULL },
		{ "/given%2fby/settings/..;/x", NULL },
		{ "/simple/../admin", NULL },
		{ "/simple/..", NULL },
		{ "/./x", NULL },
		{ "/simple/%2e%2e/admin", NULL },
		{ "/simple/%2E./admin", NULL },
		{ "/simple%2f..%2fadmin", NULL },
		{ "/simple/%252e%252e/admin", NULL },
		{ "/simple\\..\\admin", NULL },
		{ "/simple%5c..", NULL },
		{ "/simple/%255c../", NULL },
		{ "/simple/..;/admin", NULL },
		{ "/simple/..;x=1/admin", NULL },
		{ "/simple/%2e%2e;/admin", NULL },
		{ "/simple/..%3b/admin", NULL },
		{ "/simple/x;v=1", NULL },
		{ "/simple/x%2ey", NULL },
		{ "/simple/x%2fy", NULL },
		{ "/simple/x%5cy", NULL },
		{ "/simple/%25", NULL },
		{ "/simple/%3fx", NULL },
		{ "/simple/%", NULL },
		{ "/simple/%2", NULL },
		{ "/simple/%zz", NULL },
		{ "/@scope%2f..", NULL },
		{ "/@scope%2f%2e%2e/x", NULL },
		{ "/@%2fx", NULL },
		{ "/@a%2fb%2fc", NULL },
		{ "/x@a%2fb", NULL },
		{ "/x%00y", NULL },
		{ "/x%0ay", NULL },
		{ "x", NULL },
	};
	AUTO(strv_release) struct strv env = { 0 };
	struct secret_set *set = take(&env, "A=https://u:p@h/given%2fby/settings");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		AUTO(freep) char *path = login_path(&set->v[0], paths[i].target);
		if (paths[i].path)
			assert_string_equal(path, paths[i].path);
		else
			assert_null(path);
	}
	secret_set_unref(set);
}

static bool covers(const char *setting, const char *path)
{
	AUTO(strv_release) struct strv env = { 0 };
	AUTO(freep) char *source = xasprintf("A=https://u:p@h%s", setting);
	struct secret_set *set = take(&env, source);
	bool covered = login_covers(&set->v[0], path);
	secret_set_unref(set);
	return covered;
}

/* evidence: index-paths */
static void an_index_covers_the_paths_below_it(void **state)
{
	assert_true(covers("/npm/", "/npm/"));
	assert_true(covers("/npm/", "/npm"));
	assert_true(covers("/npm", "/npm/x/y"));
	assert_false(covers("/npm/", "/npms/x"));
	assert_false(covers("/npm/", "/"));
	assert_false(covers("/npm/", "/admin"));
}

/* Files of a Python index are often beside its pages. */
static void the_files_of_a_simple_index_are_covered(void **state)
{
	assert_true(covers("/repository/pypi/simple", "/repository/pypi/packages/x.whl"));
	assert_true(covers("/me/pypi/+simple/", "/me/pypi/+f/x.whl"));
	assert_false(covers("/repository/pypi/simple", "/repository/other/x"));
	assert_true(covers("/simple/", "/packages/x.whl"));
	assert_true(covers("/simple/", "/files/x.whl"));
	assert_false(covers("/simple/", "/secret.txt"));
	assert_false(covers("/npm/", "/packages/x"));
}

/* --- requests and answers ------------------------------------------------------------------------------------------ */

struct bench {
	struct secret_set *set;
	struct strv env;
	struct gate_filter *filter;
	struct buf up, down;
	struct fail fail;
};

static void bench_begin(struct bench *b)
{
	*b = (struct bench){ 0 };
	b->set = take(&b->env, "A=http://me:s%40cret-word@h:8080/npm/");
	b->set->v[0].placeholder = xstrdup("husk-secret-aaaaaaaaaaaaaaaaaaaaaaaaaa");
	b->filter = plain_new("h", 8080, b->set);
}

static void bench_end(struct bench *b)
{
	b->filter->type->free(b->filter);
	assert_null(secret_set_unref(b->set));
	strv_release(&b->env);
	buf_release(&b->up);
	buf_release(&b->down);
	fail_release(&b->fail);
}

static int request(struct bench *b, const char *line, const char *fields)
{
	AUTO(freep) char *text = xasprintf("%s HTTP/1.1\r\nHost: h:8080\r\n%s\r\n", line, fields);
	return b->filter->type->from_session(b->filter, text, strlen(text), &b->up, &b->down, &b->fail);
}

static int answer(struct bench *b, const char *text)
{
	return b->filter->type->from_upstream(b->filter, text, strlen(text), &b->up, &b->down, &b->fail);
}

#define LOGIN "authorization: Basic bWU6c0BjcmV0LXdvcmQ=\r\n"

/* Fields that could change the method or the path do not pass with a login. */
/* evidence: index-paths */
static void a_request_gets_the_login_and_few_fields(void **state)
{
	struct bench b;
	bench_begin(&b);
	assert_int_equal(
		request(&b, "GET /npm/x?y",
			"Accept: a/b\r\nAuthorization: Basic eDp5\r\nX-HTTP-Method-Override: DELETE\r\n"
			"X-Original-URL: /admin\r\nCookie: a=b\r\nRange: bytes=1-\r\nConnection: authorization\r\n"),
		0);
	assert_string_equal(buf_str(&b.up),
			    "GET /npm/x?y HTTP/1.1\r\nhost: h:8080\r\naccept: a/b\r\nrange: bytes=1-\r\n" LOGIN "\r\n");
	assert_string_equal(b.filter->type->secret(b.filter), "A");
	bench_end(&b);
}

/* evidence: index-paths */
/* A cookie would be a login of its own, and an answer may repeat the one that it got. */
static void an_answer_gives_nothing_of_the_login_away(void **state)
{
	struct bench b;
	bench_begin(&b);
	assert_int_equal(request(&b, "GET /npm/x", ""), 0);
	assert_int_equal(
		answer(&b,
		       "HTTP/1.1 200 OK\r\nSet-Cookie: session=1\r\nContent-Length: 2\r\nX-Echo: bWU6c0BjcmV0LXdvcmQ=\r\n"
		       "ETag: s@cret-word\r\nLocation: http://h:8080/?bWU6c0BjcmV0LXdvcmQ=\r\n\r\nhi"),
		0);
	const char *text = buf_str(&b.down);
	assert_non_null(strstr(text, "content-length: 2\r\n"));
	assert_null(strcasestr(text, "cookie"));
	assert_null(strcasestr(text, "x-echo"));
	assert_null(strstr(text, "s@cret"));
	assert_null(strstr(text, "bWU6"));
	assert_int_equal(b.set->v[0].rejected, 0);
	bench_end(&b);
}

/* evidence: index-paths */
static void other_requests_are_refused(void **state)
{
	static const struct {
		const char *line, *fields, *status;
	} cases[] = {
		{ "POST /npm/x", "Content-Length: 0\r\n", " 405 " },
		{ "DELETE /npm/x", "", " 405 " },
		{ "GET /npm/x", "Content-Length: 3\r\n", " 413 " },
		{ "GET /npm/x", "Transfer-Encoding: chunked\r\n", " 413 " },
		{ "GET /npm/x", "Connection: upgrade\r\nUpgrade: websocket\r\n", " 501 " },
		{ "GET /admin", "", " 403 " },
		{ "GET /npm/../admin", "", " 403 " },
		{ "GET /npm/%2e%2e/admin", "", " 403 " },
		{ "GET /npm/..;/admin", "", " 403 " },
		{ "GET //npm/x", "", " 403 " },
		{ "GET http://h:8080/npm/x", "", " 400 " },
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct bench b;
		bench_begin(&b);
		assert_true(request(&b, cases[i].line, cases[i].fields) < 0);
		assert_int_equal(b.up.len, 0);
		assert_non_null(strstr(buf_str(&b.down), cases[i].status));
		bench_end(&b);
	}
}

static void a_rejected_login_is_noted(void **state)
{
	struct bench b;
	bench_begin(&b);
	assert_int_equal(request(&b, "GET /npm/x", ""), 0);
	assert_int_equal(
		answer(&b, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"), 0);
	assert_int_equal(b.set->v[0].rejected, 401);
	assert_null(strcasestr(buf_str(&b.down), "www-authenticate"));
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_with_a_login_become_secrets),
		cmocka_unit_test(another_login_makes_another_secret),
		cmocka_unit_test(invalid_urls_are_reported_without_the_login),
		cmocka_unit_test(ambiguous_paths_are_rejected),
		cmocka_unit_test(an_index_covers_the_paths_below_it),
		cmocka_unit_test(the_files_of_a_simple_index_are_covered),
		cmocka_unit_test(a_request_gets_the_login_and_few_fields),
		cmocka_unit_test(an_answer_gives_nothing_of_the_login_away),
		cmocka_unit_test(other_requests_are_refused),
		cmocka_unit_test(a_rejected_login_is_noted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
