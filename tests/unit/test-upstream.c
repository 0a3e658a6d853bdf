#include "manager/deps/upstream.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static void take(struct upstreams *u, struct strv *env, const char *source)
{
	AUTO(strv_release) struct strv sources = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	strv_add(&sources, source);
	assert_int_equal(upstreams_take(u, env, &sources, &f), 0);
}

static void only_urls_with_a_login_are_relayed(void **state)
{
	AUTO(upstreams_release) struct upstreams u = { 0 };
	AUTO(strv_release) struct strv env = { 0 };
	take(&u, &env, "A=https://me:s%40cret@Index.Example:443/team/simple?x=1 https://open.example/simple/");
	take(&u, &env, "B=https://me:s%40cret@index.example/other/  http://token@h:8080");
	take(&u, &env, "C=index.example ssh://u:p@h/x");
	assert_int_equal(u.n, 2);
	assert_string_equal(u.v[0].origin, "https://index.example");
	assert_string_equal(u.v[0].user, "me");
	assert_string_equal(u.v[0].password, "s@cret");
	assert_int_equal(u.v[0].paths.n, 2);
	assert_string_equal(u.v[0].paths.v[0], "/team/simple/");
	assert_string_equal(u.v[1].origin, "http://h:8080");
	assert_string_equal(u.v[1].user, "token");
	assert_string_equal(u.v[1].password, "");
	assert_string_equal(u.v[1].paths.v[0], "/");
	assert_string_equal(env.v[0], "A=http://127.0.0.1:8701/team/simple?x=1 https://open.example/simple/");
	assert_string_equal(env.v[1], "B=http://127.0.0.1:8701/other/  http://127.0.0.1:8702");
	assert_string_equal(env.v[2], "C=index.example ssh://u:p@h/x");
	assert_ptr_equal(upstreams_find(&u, 8702), &u.v[1]);
	assert_null(upstreams_find(&u, 8703));
}

static void another_login_makes_another_upstream(void **state)
{
	AUTO(upstreams_release) struct upstreams u = { 0 };
	AUTO(strv_release) struct strv env = { 0 };
	take(&u, &env, "A=https://a:b@h/ https://c:d@h/");
	assert_int_equal(u.n, 2);
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
		"A=https://u:geheim@1/ https://u:geheim@2/ https://u:geheim@3/ https://u:geheim@4/ https://u:geheim@5/ "
		"https://u:geheim@6/ https://u:geheim@7/ https://u:geheim@8/ https://u:geheim@9/"
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(upstreams_release) struct upstreams u = { 0 };
		AUTO(strv_release) struct strv env = { 0 }, sources = { 0 };
		AUTO(fail_release) struct fail f = { 0 };
		strv_add(&sources, bad[i]);
		assert_int_equal(upstreams_take(&u, &env, &sources, &f), -1);
		assert_non_null(strstr(f.message, "setting A"));
		assert_null(strstr(f.message, "geheim"));
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
	AUTO(upstreams_release) struct upstreams u = { 0 };
	AUTO(strv_release) struct strv env = { 0 };
	take(&u, &env, "A=https://u:p@h/given%2fby/settings");
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		AUTO(freep) char *path = upstream_path(&u.v[0], paths[i].target);
		if (paths[i].path)
			assert_string_equal(path, paths[i].path);
		else
			assert_null(path);
	}
}

static void an_index_covers_the_paths_below_it(void **state)
{
	AUTO(upstreams_release) struct upstreams u = { 0 };
	AUTO(strv_release) struct strv env = { 0 };
	take(&u, &env, "A=https://u:p@h/simple/");
	assert_true(upstream_covers(&u.v[0], "/simple/"));
	assert_true(upstream_covers(&u.v[0], "/simple"));
	assert_true(upstream_covers(&u.v[0], "/simple/x/y"));
	assert_false(upstream_covers(&u.v[0], "/simpler/x"));
	assert_false(upstream_covers(&u.v[0], "/"));
	assert_false(upstream_covers(&u.v[0], "/admin"));
}

static void urls_of_an_index_are_recognised(void **state)
{
	AUTO(upstreams_release) struct upstreams u = { 0 };
	AUTO(strv_release) struct strv env = { 0 };
	take(&u, &env, "A=https://u:p@h/simple/");
	assert_string_equal(upstream_rest(&u.v[0], "https://H:443/x?y"), "/x?y");
	assert_string_equal(upstream_rest(&u.v[0], "https://u:p@h"), "");
	assert_null(upstream_rest(&u.v[0], "http://h/x"));
	assert_null(upstream_rest(&u.v[0], "https://h:444/x"));
	assert_null(upstream_rest(&u.v[0], "https://h.evil/x"));
	assert_null(upstream_rest(&u.v[0], "https://h@evil/x"));
	assert_null(upstream_rest(&u.v[0], "/x"));
}

static void pages_show_the_real_address(void **state)
{
	AUTO(upstreams_release) struct upstreams u = { 0 };
	AUTO(strv_release) struct strv env = { 0 };
	AUTO(buf_release) struct buf out = { 0 };
	const char *text = "at http://127.0.0.1:8701/simple/, 127.0.0.1:8701 and http://127.0.0.1:87011 or 1";
	take(&u, &env, "A=https://u:p@h/simple/");
	upstreams_show(&u, &out, text, strlen(text));
	assert_string_equal(buf_str(&out), "at https://h/simple/, h and http://127.0.0.1:87011 or 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_urls_with_a_login_are_relayed),
		cmocka_unit_test(another_login_makes_another_upstream),
		cmocka_unit_test(invalid_urls_are_reported_without_the_login),
		cmocka_unit_test(ambiguous_paths_are_rejected),
		cmocka_unit_test(an_index_covers_the_paths_below_it),
		cmocka_unit_test(urls_of_an_index_are_recognised),
		cmocka_unit_test(pages_show_the_real_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
