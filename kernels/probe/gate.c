#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "kernels/probe/probe.h"

#define WAIT_MS 1500
#define DNS_HEAD 12
#define TYPE_A 1
/* A gate answers with its own addresses: 127.64.0.0/10. */
#define GATE_NET 0x7f400000u
#define GATE_MASK 0xffc00000u

static int begin(int type, in_addr_t address, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = address };
	AUTO(closep) int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	return take_fd(fd);
}

/* An answer leads outside if it has an address that is not the gate's, or records of another kind. */
static int judge(const uint8_t *answer, ssize_t n, int type)
{
	uint32_t address;
	if (n < DNS_HEAD || (answer[6] == 0 && answer[7] == 0))
		return NO_EFFECT;
	if (type != TYPE_A)
		return 0;
	memcpy(&address, answer + n - sizeof(address), sizeof(address));
	return (ntohl(address) & GATE_MASK) == GATE_NET ? NO_EFFECT : 0;
}

int try_resolve(const struct probe *p)
{
	/* One question: the name, its type and class IN. */
	uint8_t message[512] = "\x48\x50\1\0\0\1\0\0\0\0\0\0\5probe\4husk\7example\0\0\0\0\1";
	const size_t n = DNS_HEAD + 20 + 4;
	message[n - 3] = (uint8_t)p->a;
	AUTO(closep) int fd = begin(SOCK_DGRAM, htonl(INADDR_LOOPBACK), 53);
	if (fd < 0)
		return -fd;
	struct pollfd waiting = { .fd = fd, .events = POLLIN };
	if (send(fd, message, n, 0) < 0)
		return errno;
	poll(&waiting, 1, WAIT_MS);
	ssize_t got = recv(fd, message, sizeof(message), MSG_DONTWAIT);
	if (got < 0)
		return errno == EAGAIN ? NO_ANSWER : errno;
	return judge(message, got, (int)p->a);
}

int try_unasked(const struct probe *p)
{
	AUTO(closep) int fd = begin(SOCK_STREAM, inet_addr(p->path), (uint16_t)p->a);
	return fd < 0 ? -fd : 0;
}
