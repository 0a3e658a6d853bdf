/* manager/model/networks: networks as people write them, and the address of a URL. */
#include "manager/model/networks.h"

#include <errno.h>

#include "tests/unit/unit.h"

static void networks_are_parsed(void **state)
{
	static const struct {
		const char *text, *want;
	} good[] = { { "10.1.0.0/16", "10.1.0.0/16" },
		     { "192.168.1.5", "192.168.1.5/32" },
		     { "fd12::/32", "fd12::/32" },
		     { "fd12::1", "fd12::1/128" },
		     { "0.0.0.0/0", "0.0.0.0/0" } };
	static const char *const bad[] = { "",	   "10.1/16", "10.1.0.0/33", "fd12::/129",
					   "host", "host/8",  "10.0.0.0/",   "10.0.0.0/8,80" };
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		AUTO(strv_release) struct strv list = { 0 };
		assert_int_equal(networks_add(&list, good[i].text), 0);
		assert_int_equal(list.n, 1);
		assert_string_equal(list.v[0], good[i].want);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO(strv_release) struct strv list = { 0 };
		assert_int_equal(networks_add(&list, bad[i]), -EINVAL);
		assert_int_equal(list.n, 0);
	}
	AUTO(strv_release) struct strv all = { 0 };
	assert_int_equal(networks_add(&all, "ALL"), 0);
	assert_int_equal(all.n, 2);
}

static void hosts_of_urls_are_resolved(void **state)
{
	static const struct {
		const char *url, *host, *port;
	} good[] = { { "http://a.example/simple/", "a.example", "80" },
		     { "https://a.example", "a.example", "443" },
		     { "HTTPS://user:p%40ss@a.example:8443/x@y", "a.example", "8443" },
		     { "http://[fd00::1]:8080/", "fd00::1", "8080" },
		     { "http://[fd00::1]/", "fd00::1", "80" },
		     { "socks5h://10.0.0.1", "10.0.0.1", "1080" },
		     { "http://10.0.0.1:3128?q", "10.0.0.1", "3128" } };
	static const char *const bad[] = { "",
					   "a.example:80",
					   "http:/a.example",
					   "http://",
					   "http:///x",
					   "http://a:0/",
					   "http://a:65536/",
					   "http://a:b/",
					   "gopher://a/",
					   "http://[fd00::1",
					   "http://[fd00::1]x:80",
					   "http://user@",
					   "http://:80" };
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct url_place place;
		if (!networks_read_url(good[i].url, strlen(good[i].url), &place))
			fail_msg("%s", good[i].url);
		assert_string_equal(place.host, good[i].host);
		assert_string_equal(place.port, good[i].port);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct url_place place;
		if (networks_read_url(bad[i], strlen(bad[i]), &place))
			fail_msg("%s leads to %s, port %s", bad[i], place.host, place.port);
	}
}

static void addresses_need_no_resolver(void **state)
{
	AUTO(strv_release) struct strv list = { 0 };
	networks_resolve(&list, &(struct url_place){ .host = "10.1.2.3", .port = "8080" });
	networks_resolve(&list, &(struct url_place){ .host = "fd00::1", .port = "443" });
	networks_resolve(&list, &(struct url_place){ .host = "fe80::1%lo", .port = "443" });
	assert_int_equal(list.n, 2);
	assert_string_equal(list.v[0], "10.1.2.3/32,8080");
	assert_string_equal(list.v[1], "fd00::1/128,443");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(networks_are_parsed),
		cmocka_unit_test(hosts_of_urls_are_resolved),
		cmocka_unit_test(addresses_need_no_resolver),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
