#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <poll.h>
#include <sys/socket.h>

#include "kernels/probe/probe.h"

#define CONNECT_MS 1500
/* A bridge assigns addresses in order, so other sessions have nearby ones. */
#define NEIGHBOURS 8

/* True for ICMP messages that only a firewall sends in answer to a connection. A running machine with a closed port
 * answers with a reset instead of "port unreachable". */
static bool is_firewall(const struct sock_extended_err *e)
{
	if (e->ee_origin == SO_EE_ORIGIN_ICMP)
		return e->ee_type == 3 && (e->ee_code == 3 || e->ee_code == 9 || e->ee_code == 10 || e->ee_code == 13);
	return e->ee_origin == SO_EE_ORIGIN_ICMP6 && e->ee_type == 1 && (e->ee_code == 1 || e->ee_code == 4);
}

static bool was_filtered(int fd)
{
	_Alignas(struct cmsghdr) char control[512];
	struct sockaddr_storage from;
	struct msghdr message = { .msg_name = &from,
				  .msg_namelen = sizeof(from),
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		struct sock_extended_err error;
		if (c->cmsg_len < CMSG_LEN(sizeof(error)))
			continue;
		memcpy(&error, CMSG_DATA(c), sizeof(error));
		if (is_firewall(&error))
			return true;
	}
	return false;
}

/* Returns a connecting socket; -1 with errno. */
static int begin(const struct sockaddr *address, socklen_t n)
{
	const int on = 1;
	AUTO(closep) int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (address->sa_family == AF_INET)
		setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
	else
		setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
	if (connect(fd, address, n) < 0 && errno != EINPROGRESS)
		return -1;
	return take_fd(fd);
}

/* A refusal comes from the other side, so the other side was reached. The error is read first, since reading an
 * ICMP message clears it. */
static int conclude(int fd)
{
	int error = 0;
	struct sockaddr_storage peer;
	socklen_t size = sizeof(error), n = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return errno;
	if (was_filtered(fd))
		return FILTERED;
	if (error)
		return error == ECONNREFUSED ? 0 : error;
	return getpeername(fd, (struct sockaddr *)&peer, &n) == 0 ? 0 : NO_ANSWER;
}

static int reach(const struct sockaddr *address, socklen_t n)
{
	AUTO(closep) int fd = begin(address, n);
	if (fd < 0)
		return errno == ECONNREFUSED ? 0 : errno;
	struct pollfd waiting = { .fd = fd, .events = POLLOUT };
	poll(&waiting, 1, CONNECT_MS);
	return conclude(fd);
}

int try_connect(const struct probe *p)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)p->a) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)p->a) };
	if (inet_pton(AF_INET, p->path, &v4.sin_addr) == 1)
		return reach((struct sockaddr *)&v4, sizeof(v4));
	if (inet_pton(AF_INET6, p->path, &v6.sin6_addr) == 1)
		return reach((struct sockaddr *)&v6, sizeof(v6));
	return EINVAL;
}

/* Gateway of the default route, in network byte order; 0 = none. */
static uint32_t find_gateway(void)
{
	char line[256], device[64];
	unsigned target, gateway, found = 0;
	FILE *routes = fopen("/proc/net/route", "re");
	while (routes && fgets(line, sizeof(line), routes))
		if (sscanf(line, "%63s %x %x", device, &target, &gateway) == 3 && target == 0 && gateway)
			found = gateway;
	if (routes)
		fclose(routes);
	return found;
}

/* Our own address: the source of a packet to the gateway; 0 = unknown. */
static uint32_t find_own(uint32_t gateway)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = gateway };
	socklen_t n = sizeof(address);
	AUTO(closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, n) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &n) < 0)
		return 0;
	return ntohl(address.sin_addr.s_addr);
}

int try_gateway(const struct probe *p)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)p->a),
				       .sin_addr.s_addr = find_gateway() };
	return address.sin_addr.s_addr ? reach((struct sockaddr *)&address, sizeof(address)) : ENETUNREACH;
}

/* True if this address has answered below IP (ARP), where nothing is filtered. */
static bool is_there(uint32_t address)
{
	char line[256], text[64];
	unsigned type, flags;
	bool found = false;
	FILE *table = fopen("/proc/net/arp", "re");
	while (table && !found && fgets(line, sizeof(line), table)) {
		struct in_addr entry;
		found = sscanf(line, "%63s %x %x", text, &type, &flags) == 3 && inet_pton(AF_INET, text, &entry) == 1 &&
			entry.s_addr == address && (flags & 2);
	}
	if (table)
		fclose(table);
	return found;
}

int try_neighbour(const struct probe *p)
{
	uint32_t gateway = find_gateway(), own = gateway ? find_own(gateway) : 0;
	struct pollfd waiting[NEIGHBOURS];
	struct sockaddr_in address[NEIGHBOURS];
	int result = NO_NEIGHBOUR;
	if (!gateway)
		return ENETUNREACH;
	for (int i = 0; i < NEIGHBOURS; i++) {
		uint32_t other = own + (uint32_t)((i + 1) * p->a);
		address[i] = (struct sockaddr_in){ .sin_family = AF_INET,
						   .sin_port = htons(1),
						   .sin_addr.s_addr = htonl(other) };
		/* The gateway has separate probes. */
		bool skip = address[i].sin_addr.s_addr == gateway;
		waiting[i] =
			(struct pollfd){ .fd = skip ? -1 : begin((struct sockaddr *)&address[i], sizeof(address[i])) };
	}
	/* Does not stop at the first answer, so that all addresses have the same time. */
	poll(NULL, 0, CONNECT_MS);
	for (int i = 0; i < NEIGHBOURS; i++) {
		AUTO(closep) int fd = waiting[i].fd;
		int how = fd < 0 ? NO_ANSWER : conclude(fd);
		if (how == 0)
			return 0;
		if (how == FILTERED || is_there(address[i].sin_addr.s_addr))
			result = FILTERED;
	}
	return result;
}
