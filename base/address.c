#include "base/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/parse.h"
#include "base/strv.h"

/* The IPv4 address that an IPv6 address embeds: mapped, NAT64 or 6to4. */
static bool embedded(const struct in6_addr *a, struct in_addr *ret)
{
	static const uint8_t nat64[12] = { 0, 0x64, 0xff, 0x9b };
	bool in_tail = IN6_IS_ADDR_V4MAPPED(a) || memcmp(a->s6_addr, nat64, sizeof(nat64)) == 0;
	if (!in_tail && (a->s6_addr[0] != 0x20 || a->s6_addr[1] != 0x02))
		return false;
	memcpy(ret, a->s6_addr + (in_tail ? 12 : 2), sizeof(*ret));
	return true;
}

static bool is_local4(struct in_addr address)
{
	uint32_t a = ntohl(address.s_addr);
	return a >> 24 == 127 || a >> 24 == 0 || a >> 16 == 0xa9fe || a >> 28 == 0xe || a == UINT32_MAX;
}

static bool is_private4(struct in_addr address)
{
	uint32_t a = ntohl(address.s_addr);
	return a >> 24 == 10 || a >> 20 == 0xac1 || a >> 16 == 0xc0a8 || a >> 22 == 0x191;
}

bool address_is_local(const struct sockaddr *sa)
{
	struct in_addr inner;
	if (sa->sa_family != AF_INET6)
		return is_local4(((const struct sockaddr_in *)sa)->sin_addr);
	const struct in6_addr *a = &((const struct sockaddr_in6 *)sa)->sin6_addr;
	return IN6_IS_ADDR_LOOPBACK(a) || IN6_IS_ADDR_LINKLOCAL(a) || IN6_IS_ADDR_UNSPECIFIED(a) ||
	       IN6_IS_ADDR_MULTICAST(a) || (embedded(a, &inner) && is_local4(inner));
}

static bool is_private(const struct sockaddr *sa)
{
	struct in_addr inner;
	if (address_is_local(sa))
		return true;
	if (sa->sa_family != AF_INET6)
		return is_private4(((const struct sockaddr_in *)sa)->sin_addr);
	static const uint8_t own_nat64[6] = { 0, 0x64, 0xff, 0x9b, 0, 1 }; /* a network's own translation to IPv4 */
	const struct in6_addr *a = &((const struct sockaddr_in6 *)sa)->sin6_addr;
	if (memcmp(a->s6_addr, own_nat64, sizeof(own_nat64)) == 0)
		return true;
	return (a->s6_addr[0] & 0xfe) == 0xfc || IN6_IS_ADDR_SITELOCAL(a) || IN6_IS_ADDR_V4COMPAT(a) ||
	       (embedded(a, &inner) && is_private4(inner));
}

static bool same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (!b || a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET6)
		return IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)a)->sin6_addr,
					  &((const struct sockaddr_in6 *)b)->sin6_addr);
	return a->sa_family == AF_INET &&
	       ((const struct sockaddr_in *)a)->sin_addr.s_addr == ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

static bool is_of_this_machine(const struct sockaddr *sa)
{
	struct ifaddrs *all = NULL;
	bool found = getifaddrs(&all) < 0;
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next)
		found = same_host(sa, i->ifa_addr);
	freeifaddrs(all);
	return found;
}

bool address_is_public(const struct sockaddr *sa)
{
	return !is_private(sa) && !is_of_this_machine(sa);
}

static bool same_bits(const uint8_t *a, const uint8_t *b, uint64_t bits)
{
	size_t whole = bits / 8;
	uint8_t mask = (uint8_t)(0xff00 >> bits % 8);
	return memcmp(a, b, whole) == 0 && (!mask || ((a[whole] ^ b[whole]) & mask) == 0);
}

bool address_is_in(const struct sockaddr *sa, const char *network)
{
	uint8_t want[16];
	uint64_t prefix;
	struct in_addr inner;
	const char *slash = strchr(network, '/');
	if (!slash || parse_u64(slash + 1, &prefix) < 0)
		return false;
	AUTO(freep) char *host = xstrndup(network, (size_t)(slash - network));
	if (strchr(host, ':'))
		return sa->sa_family == AF_INET6 && prefix <= 128 && inet_pton(AF_INET6, host, want) == 1 &&
		       same_bits(((const struct sockaddr_in6 *)sa)->sin6_addr.s6_addr, want, prefix);
	if (sa->sa_family == AF_INET)
		inner = ((const struct sockaddr_in *)sa)->sin_addr;
	else if (!embedded(&((const struct sockaddr_in6 *)sa)->sin6_addr, &inner))
		return false;
	return prefix <= 32 && inet_pton(AF_INET, host, want) == 1 && same_bits((const uint8_t *)&inner, want, prefix);
}

bool address_is_meant(const struct sockaddr *sa, const struct strv *networks)
{
	if (address_is_public(sa))
		return true;
	for (size_t i = 0; i < networks->n && !address_is_local(sa); i++)
		if (address_is_in(sa, networks->v[i]))
			return true;
	return false;
}

bool address_read(struct sockaddr_storage *ret, const char *text, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		memcpy(ret, &v4, sizeof(v4));
	else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
		memcpy(ret, &v6, sizeof(v6));
	else
		return false;
	return true;
}

size_t address_size(const struct sockaddr_storage *sa)
{
	return sa->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}
