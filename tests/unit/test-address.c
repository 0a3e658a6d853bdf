/* base/address: which addresses are public. */
#include "base/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <sys/socket.h>

#include "base/strv.h"
#include "tests/unit/unit.h"

static void private_addresses_are_recognised(void **state)
{
	static const struct {
		const char *text;
		bool is_public;
	} addresses[] = {
		{ "8.8.8.8", true },	       { "203.0.113.7", true },
		{ "172.32.0.1", true },	       { "100.128.0.1", true },
		{ "10.0.0.1", false },	       { "172.16.0.1", false },
		{ "172.31.255.255", false },   { "192.168.1.1", false },
		{ "100.64.0.1", false },       { "169.254.169.254", false },
		{ "127.8.8.8", false },	       { "0.0.0.0", false },
		{ "2001:db8::1", true },       { "::1", false },
		{ "fd00::1", false },	       { "fe80::1", false },
		{ "::ffff:10.0.0.1", false },  { "64:ff9b::a00:1", false },
		{ "2002:a00:1::1", false },    { "::", false },
		{ "::10.0.0.1", false },       { "ff02::1", false },
		{ "64:ff9b:1::a00:1", false },
	};
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		struct sockaddr_in v4 = { .sin_family = AF_INET };
		struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
		bool is_v6 = strchr(addresses[i].text, ':');
		assert_int_equal(inet_pton(is_v6 ? AF_INET6 : AF_INET, addresses[i].text,
					   is_v6 ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr),
				 1);
		assert_int_equal(address_is_public(is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4),
				 addresses[i].is_public);
	}
}

static void addresses_of_this_machine_are_not_public(void **state)
{
	struct ifaddrs *all = NULL;
	size_t n = 0;
	assert_int_equal(getifaddrs(&all), 0);
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		if (!i->ifa_addr || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
			continue;
		assert_false(address_is_public(i->ifa_addr));
		n++;
	}
	freeifaddrs(all);
	assert_true(n > 0);
}

static void networks_contain_their_addresses(void **state)
{
	static const struct {
		const char *address, *network;
		bool inside;
	} asked[] = {
		{ "10.1.2.3", "10.1.0.0/16", true },
		{ "10.2.0.0", "10.1.0.0/16", false },
		{ "10.1.2.3", "10.1.2.3/32", true },
		{ "10.1.2.2", "10.1.2.3/32", false },
		{ "10.1.2.3", "10.1.2.0/23", true },
		{ "10.1.4.3", "10.1.2.0/23", false },
		{ "8.8.8.8", "0.0.0.0/0", true },
		{ "8.8.8.8", "::/0", false },
		{ "fd12::9", "fd12::/32", true },
		{ "fd13::9", "fd12::/32", false },
		{ "fd12::9", "::/0", true },
		{ "::ffff:10.1.2.3", "10.1.0.0/16", true },
		{ "::ffff:10.2.2.3", "10.1.0.0/16", false },
		{ "fd12::9", "10.0.0.0/8", false },
		{ "10.1.2.3", "10.1.0.0", false },
		{ "10.1.2.3", "10.1.0.0/33", false },
	};
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		struct sockaddr_storage sa;
		assert_true(address_read(&sa, asked[i].address, 1));
		if (address_is_in((const struct sockaddr *)&sa, asked[i].network) != asked[i].inside)
			fail_msg("%s in %s", asked[i].address, asked[i].network);
	}
}

/* evidence: gate-addresses */
static void names_lead_to_public_addresses_and_given_networks(void **state)
{
	static const struct {
		const char *address;
		bool meant, without;
	} asked[] = {
		{ "8.8.8.8", true, true },
		{ "10.1.2.3", true, false },
		{ "::ffff:10.1.2.3", true, false },
		{ "10.2.0.1", false, false },
		{ "192.168.1.1", false, false },
		{ "fd12::9", false, false },
		{ "127.0.0.1", false, false },
		{ "::ffff:127.0.0.1", false, false },
		{ "169.254.169.254", false, false },
		{ "fe80::1", false, false },
		{ "::1", false, false },
	};
	struct strv networks = { 0 }, none = { 0 };
	strv_add_all(&networks, "192.0.2.0/24", "10.1.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "fe80::/10", "::1/128",
		     NULL);
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		struct sockaddr_storage sa;
		assert_true(address_read(&sa, asked[i].address, 1));
		if (address_is_meant((const struct sockaddr *)&sa, &networks) != asked[i].meant ||
		    address_is_meant((const struct sockaddr *)&sa, &none) != asked[i].without)
			fail_msg("%s", asked[i].address);
	}
	strv_release(&networks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_addresses_are_recognised),
		cmocka_unit_test(addresses_of_this_machine_are_not_public),
		cmocka_unit_test(networks_contain_their_addresses),
		cmocka_unit_test(names_lead_to_public_addresses_and_given_networks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
