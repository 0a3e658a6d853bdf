#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "kernels/probe/probe.h"

#define CONNECT_MS 1500

int try_call(const struct probe *p)
{
	return syscall(p->call, p->a, p->b, p->c, p->d, 0, 0) < 0 ? errno : 0;
}

int try_read(const struct probe *p)
{
	char byte;
	AUTO(closep) int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno;
	ssize_t n = read(fd, &byte, 1);
	return n < 0 ? errno : n == 0 ? NO_EFFECT : 0;
}

int try_write(const struct probe *p)
{
	AUTO(closep) int fd = open(p->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	return fd < 0 ? errno : 0;
}

/* A directory that something empty hides shows nothing. */
int try_list(const struct probe *p)
{
	DIR *dir = opendir(p->path);
	bool any = false;
	if (!dir)
		return errno;
	for (struct dirent *e; !any && (e = readdir(dir));)
		any = !streq(e->d_name, ".") && !streq(e->d_name, "..");
	closedir(dir);
	return any ? 0 : NO_EFFECT;
}

int try_unix(const struct probe *p)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	AUTO(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", p->path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return errno;
	return 0;
}

int try_socket(const struct probe *p)
{
	AUTO(closep) int fd = socket((int)p->a, (int)p->b | SOCK_CLOEXEC, (int)p->c);
	return fd < 0 ? errno : 0;
}

/* A refusal comes from the other side: whoever gets one has reached it. */
static int reach(const struct sockaddr *address, socklen_t n)
{
	AUTO(closep) int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = 0;
	socklen_t size = sizeof(error);
	if (fd < 0)
		return errno;
	if (connect(fd, address, n) < 0 && errno != EINPROGRESS)
		return errno == ECONNREFUSED ? 0 : errno;
	struct pollfd waiting = { .fd = fd, .events = POLLOUT };
	if (poll(&waiting, 1, CONNECT_MS) <= 0)
		return ETIMEDOUT;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return errno;
	return error == ECONNREFUSED ? 0 : error;
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

/* Where the default route leads, in the kernel's own order of bytes; 0 = nowhere. */
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

/* Our own address, as a packet to the gateway would carry it. */
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
	uint32_t gateway = find_gateway(), own = gateway ? find_own(gateway) : 0;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)p->a) };
	if (!gateway)
		return ENETUNREACH;
	address.sin_addr.s_addr = p->b ? htonl(own + (uint32_t)p->b) : gateway;
	/* The neighbour may be the gateway, which has a probe of its own. */
	if (p->b && address.sin_addr.s_addr == gateway)
		address.sin_addr.s_addr = htonl(own + 2);
	return reach((struct sockaddr *)&address, sizeof(address));
}
