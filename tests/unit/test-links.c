#include "manager/deps/links.h"

#include "base/alloc.h"
#include "tests/unit/unit.h"

static struct strv told;

static void on_link(void *ctx, const char *path)
{
	strv_add(&told, path);
}

/* The page after rewriting, fed in pieces of that size. */
static void expect(enum links_kind kind, size_t piece, const char *page, const char *want)
{
	AUTO(upstreams_release) struct upstreams u = { 0 };
	AUTO(strv_release) struct strv env = { 0 }, sources = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	AUTO(buf_release) struct buf out = { 0 };
	strv_release(&told);
	strv_add(&sources, "A=https://u:p@h/team/simple/");
	assert_int_equal(upstreams_take(&u, &env, &sources, &f), 0);
	struct links *l = links_new(kind, &u.v[0], "/team/simple/x/", on_link, NULL);
	for (size_t at = 0, n = strlen(page); at < n; at += piece)
		links_feed(l, page + at, MIN(piece, n - at), &out);
	links_finish(l, &out);
	links_free(l);
	assert_string_equal(buf_str(&out), want);
}

static void links_of_a_simple_page(void **state)
{
	static const char page[] =
		"<!doctype html>\n<title>it's 1 < 2</title><a href=\"https://h/f/x-1.whl#sha256=ab\" data-x='href'>"
		"x</a>\n<A HREF='../../f/y%2D2.whl'>don't</a> <a class=\"x\" href=\"//h/f/z\"></a>"
		"<a href=\"https://other/f/x\"></a><a href=\"#top\"></a><a href=\"https://u:p@H:443/s\">";
	static const char want[] =
		"<!doctype html>\n<title>it's 1 < 2</title><a href=\"http://127.0.0.1:8701/f/x-1.whl#sha256=ab\" data-x='href'>"
		"x</a>\n<A HREF='../../f/y%2D2.whl'>don't</a> <a class=\"x\" href=\"http://127.0.0.1:8701/f/z\"></a>"
		"<a href=\"https://other/f/x\"></a><a href=\"#top\"></a><a href=\"http://127.0.0.1:8701/s\">";
	for (size_t piece = 1; piece < 40; piece += 13) {
		expect(LINKS_HTML, piece, page, want);
		assert_int_equal(told.n, 4);
		assert_string_equal(told.v[0], "/f/x-1.whl");
		assert_string_equal(told.v[1], "/team/f/y-2.whl");
		assert_string_equal(told.v[2], "/f/z");
		assert_string_equal(told.v[3], "/s");
	}
}

static void a_base_element_is_respected(void **state)
{
	expect(LINKS_HTML, 100, "<base href=\"https://h/d/e/\"><a href=\"x\"><a href='../y'>",
	       "<base href=\"http://127.0.0.1:8701/d/e/\"><a href=\"x\"><a href='../y'>");
	assert_int_equal(told.n, 2);
	assert_string_equal(told.v[0], "/d/e/x");
	assert_string_equal(told.v[1], "/d/y");
}

static void links_of_a_json_page(void **state)
{
	static const char page[] =
		"{\"files\":[{\"url\" : \"https:\\/\\/h\\/f\\/x\",\"hashes\":{\"url2\":\"https://h/no\"}},"
		"{\"url\":\"..\\/y\"}],\"name\":\"url\",\"a\":[\"url\",\"https://h/no\"],\"q\":\"\\\"url\\\":\"}";
	static const char want[] =
		"{\"files\":[{\"url\" : \"http://127.0.0.1:8701/f/x\",\"hashes\":{\"url2\":\"https://h/no\"}},"
		"{\"url\":\"..\\/y\"}],\"name\":\"url\",\"a\":[\"url\",\"https://h/no\"],\"q\":\"\\\"url\\\":\"}";
	for (size_t piece = 1; piece < 40; piece += 13) {
		expect(LINKS_SIMPLE_JSON, piece, page, want);
		assert_int_equal(told.n, 2);
		assert_string_equal(told.v[0], "/f/x");
		assert_string_equal(told.v[1], "/team/simple/y");
	}
}

static void registry_links_are_rewritten_but_not_opened(void **state)
{
	expect(LINKS_JSON, 7,
	       "{\"url\":\"https://h/a\",\"dist\":{\"tarball\":\"https://h/x.tgz\"},\"tarball\":\"/admin\"}",
	       "{\"url\":\"https://h/a\",\"dist\":{\"tarball\":\"http://127.0.0.1:8701/x.tgz\"},\"tarball\":\"/admin\"}");
	assert_int_equal(told.n, 0);
}

static void text_that_is_not_a_link_passes_unchanged(void **state)
{
	AUTO(buf_release) struct buf page = { 0 };
	buf_add_str(&page, "<a href=\"https://h/");
	for (int i = 0; i < 10000; i++)
		buf_add_str(&page, "x");
	expect(LINKS_HTML, 1000, buf_str(&page), buf_str(&page)); /* a link that is too long and does not end */
	buf_add_str(&page,
		    "\"><a href=\"../../../../../etc\"><a href='mailto:https://h/'><a href=\"/a/../../%2e%2e/b\">");
	expect(LINKS_HTML, 1000, buf_str(&page), buf_str(&page));
	assert_int_equal(told.n, 1);
	assert_string_equal(told.v[0], "/etc");
	expect(LINKS_SIMPLE_JSON, 3, "{\"url\":\"https:\\u002f/h/x\"", "{\"url\":\"https:\\u002f/h/x\"");
	expect(LINKS_SIMPLE_JSON, 3, "{\"url\":\"https://h/x", "{\"url\":\"https://h/x");
	assert_int_equal(told.n, 0);
}

static void kinds_of_pages(void **state)
{
	assert_int_equal(links_kind_of("text/html; charset=utf-8"), LINKS_HTML);
	assert_int_equal(links_kind_of("Application/vnd.pypi.simple.v1+JSON"), LINKS_SIMPLE_JSON);
	assert_int_equal(links_kind_of("application/json"), LINKS_JSON);
	assert_int_equal(links_kind_of("application/octet-stream"), LINKS_NONE);
	assert_int_equal(links_kind_of("text/htmlx"), LINKS_NONE);
	assert_int_equal(links_kind_of(NULL), LINKS_NONE);
}

static int forget(void **state)
{
	strv_release(&told);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_of_a_simple_page),
		cmocka_unit_test(a_base_element_is_respected),
		cmocka_unit_test(links_of_a_json_page),
		cmocka_unit_test(registry_links_are_rewritten_but_not_opened),
		cmocka_unit_test(text_that_is_not_a_link_passes_unchanged),
		cmocka_unit_test(kinds_of_pages),
	};
	return cmocka_run_group_tests(tests, NULL, forget);
}
