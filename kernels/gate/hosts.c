#include "kernels/gate/hosts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/alloc.h"

/* The rest of 127.64.0.0/10. */
#define FIRST_ADDRESS GATE_ADDRESS_FIRST
#define LAST_ADDRESS 0x7f7ffffeu
#define BACKLOG 128
/* A program of the session may have taken an address first. */
#define ADDRESSES_TRIED 8

void hosts_init(struct hosts *all)
{
	*all = (struct hosts){ .epoll_fd = -1, .next_address = FIRST_ADDRESS };
	list_init(&all->list);
}

/* -errno. */
static int listen_on(uint32_t address, uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address) };
	AUTO(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return take_fd(fd);
}

static void close_listeners(struct hosts *all, struct host *h)
{
	for (size_t i = 0; i < h->n; i++) {
		/* A child before its exec still has the descriptor, so closing it here would leave it in the epoll set. */
		(void)epoll_ctl(all->epoll_fd, EPOLL_CTL_DEL, h->listeners[i].fd, NULL);
		closep(&h->listeners[i].fd);
	}
	all->n_listeners -= h->n;
	h->n = 0;
	free(take_ptr(h->listeners));
}

static void drop(struct hosts *all, struct host *h)
{
	close_listeners(all, h);
	list_remove(&h->node);
	all->n--;
	free(h);
}

/* A port that the session already serves on all addresses is left to it. Returns the first failure. */
static int open_listeners(struct hosts *all, struct host *h, const uint16_t *ports, size_t n)
{
	int first = 0;
	h->listeners = xcalloc(n + 1, sizeof(*h->listeners));
	for (size_t i = 0; i < n; i++) {
		struct listener *l = &h->listeners[h->n];
		int fd = listen_on(h->address, ports[i]);
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = l };
		if (fd >= 0 && epoll_ctl(all->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
			close(fd);
			fd = -errno;
		}
		first = first ? first : MIN(fd, 0);
		if (fd < 0)
			continue;
		*l = (struct listener){ .host = h, .port = ports[i], .fd = fd };
		h->n++;
		all->n_listeners++;
	}
	return first;
}

int hosts_open(struct hosts *all)
{
	static const uint16_t ports[] = { 80, 443 };
	if (all->common)
		return 0;
	if (all->epoll_fd < 0)
		all->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (all->epoll_fd < 0)
		return -errno;
	struct host *h = new0(struct host);
	h->address = GATE_COMMON_ADDRESS;
	list_init(&h->node);
	int r = open_listeners(all, h, ports, ARRAY_LEN(ports));
	all->common = h;
	return r;
}

static struct host *find(struct hosts *all, const char *name)
{
	list_for_each(h, &all->list, struct host, node)
		if (streq(h->name, name))
			return h;
	return NULL;
}

/* An address is not used again soon: programs may remember whose it was. */
static uint32_t take_address(struct hosts *all)
{
	uint32_t address = all->next_address++;
	if (all->next_address > LAST_ADDRESS)
		all->next_address = FIRST_ADDRESS;
	return address;
}

uint32_t hosts_address(struct hosts *all, const char *name, const uint16_t *ports, size_t n)
{
	struct host *h = find(all, name);
	if (h) {
		list_remove(&h->node);
		list_append(&all->list, &h->node);
		return h->address;
	}
	while (all->n && (all->n >= GATE_HOSTS_MAX || all->n_listeners + n > GATE_LISTENERS_MAX))
		drop(all, list_first(&all->list, struct host, node));
	h = new0(struct host);
	snprintf(h->name, sizeof(h->name), "%s", name);
	list_append(&all->list, &h->node);
	all->n++;
	for (int i = 0; i < ADDRESSES_TRIED; i++) {
		close_listeners(all, h);
		h->address = take_address(all);
		if (open_listeners(all, h, ports, n) != -EADDRINUSE)
			break;
	}
	return h->address;
}

static bool listens_on(const struct host *h, const uint16_t *ports, size_t n)
{
	bool same = h->n == n;
	for (size_t i = 0; same && i < n; i++)
		same = h->listeners[i].port == ports[i];
	return same;
}

void hosts_apply(struct hosts *all, const struct names *names)
{
	list_for_each(h, &all->list, struct host, node) {
		uint16_t ports[NAME_PORTS_MAX];
		size_t n = names_ports(names, h->name, ports);
		if (!n)
			drop(all, h);
		if (!n || listens_on(h, ports, n))
			continue;
		close_listeners(all, h);
		(void)open_listeners(all, h, ports, n);
	}
	for (size_t i = 0; names->standing && i < names->n; i++) {
		uint16_t ports[NAME_PORTS_MAX];
		const struct name_rule *rule = &names->v[i];
		if (!rule->below)
			(void)hosts_address(all, rule->name, ports, names_ports(names, rule->name, ports));
	}
}

struct listener *hosts_ready(struct hosts *all)
{
	struct epoll_event event;
	return epoll_wait(all->epoll_fd, &event, 1, 0) == 1 ? event.data.ptr : NULL;
}
