#include "kernels/gate/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/alloc.h"

#define DNS_PORT 53
#define BACKLOG 16
/* Queries that are answered before other work gets its turn. */
#define QUERIES_A_TURN 32
#define PATIENCE_MS 5000
/* Until connections are accepted again, after there were no descriptors for one. */
#define PAUSE_MS 1000

struct dns_connection {
	struct list node;
	struct resolver *resolver;
	int fd;
	struct watch watch;
	struct timeout patience;
	uint8_t query[2 + DNS_QUERY_MAX];
	size_t n;
};

void resolver_init(struct resolver *r, struct poller *p)
{
	*r = (struct resolver){ .poller = p, .on_name = r->on_name, .udp_fd = -1, .tcp_fd = -1 };
	list_init(&r->connections);
}

size_t resolver_answer(struct resolver *r, const uint8_t *query, size_t n, uint8_t out[DNS_ANSWER_MAX])
{
	struct dns_query q;
	bool exists = false;
	uint32_t address = 0;
	if (dns_read(query, n, &q) < 0)
		return 0;
	if (q.code != DNS_OK)
		return dns_answer(query, &q, q.code, 0, out);
	if (*q.name)
		address = r->on_name(r, q.name, q.wants_address, &exists);
	return dns_answer(query, &q, exists ? DNS_OK : DNS_NO_NAME, q.wants_address ? address : 0, out);
}

/* --- UDP */

static void on_query(struct watch *w, short revents UNUSED)
{
	struct resolver *r = container_of(w, struct resolver, udp_watch);
	for (int i = 0; i < QUERIES_A_TURN; i++) {
		uint8_t query[DNS_QUERY_MAX + 1], answer[DNS_ANSWER_MAX];
		struct sockaddr_in from;
		socklen_t size = sizeof(from);
		ssize_t n = recvfrom(r->udp_fd, query, sizeof(query), MSG_DONTWAIT, (struct sockaddr *)&from, &size);
		if (n < 0)
			return;
		size_t m = resolver_answer(r, query, (size_t)n, answer);
		if (m)
			(void)!sendto(r->udp_fd, answer, m, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&from,
				      size);
	}
}

/* --- TCP */

static void connection_free(struct dns_connection *c)
{
	watch_stop(&c->watch);
	timeout_stop(&c->patience);
	closep(&c->fd);
	list_remove(&c->node);
	c->resolver->n_connections--;
	free(c);
}

static void on_patience(struct timeout *t)
{
	connection_free(container_of(t, struct dns_connection, patience));
}

/* True if a whole query was answered. *ret_broken: the connection must be closed. */
static bool answer_next(struct dns_connection *c, bool *ret_broken)
{
	uint8_t out[2 + DNS_ANSWER_MAX];
	size_t length = c->n < 2 ? 0 : (size_t)c->query[0] << 8 | c->query[1];
	*ret_broken = c->n >= 2 && (!length || length > DNS_QUERY_MAX);
	if (*ret_broken || c->n < 2 || c->n < 2 + length)
		return false;
	size_t n = resolver_answer(c->resolver, c->query + 2, length, out + 2);
	out[0] = (uint8_t)(n >> 8);
	out[1] = (uint8_t)n;
	/* A program that does not read its answers is disconnected. */
	*ret_broken = !n || send(c->fd, out, n + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)(n + 2);
	c->n -= 2 + length;
	memmove(c->query, c->query + 2 + length, c->n);
	return true;
}

static void on_stream(struct watch *w, short revents UNUSED)
{
	struct dns_connection *c = container_of(w, struct dns_connection, watch);
	bool broken;
	ssize_t n = recv(c->fd, c->query + c->n, sizeof(c->query) - c->n, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	c->n += n > 0 ? (size_t)n : 0;
	timeout_start(c->resolver->poller, &c->patience, PATIENCE_MS, on_patience);
	while (answer_next(c, &broken) && !broken)
		;
	if (n <= 0 || broken)
		connection_free(c);
}

static void on_connect(struct watch *w, short revents);

static void on_pause_over(struct timeout *t)
{
	struct resolver *r = container_of(t, struct resolver, pause);
	watch_start(r->poller, &r->tcp_watch, r->tcp_fd, POLLIN, on_connect);
}

static void on_connect(struct watch *w, short revents UNUSED)
{
	struct resolver *r = container_of(w, struct resolver, tcp_watch);
	int fd = accept4(r->tcp_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		/* The connection still waits, so the socket stays readable. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			watch_stop(w);
			timeout_start(r->poller, &r->pause, PAUSE_MS, on_pause_over);
		}
		return;
	}
	if (r->n_connections >= RESOLVER_CONNECTIONS_MAX) {
		close(fd);
		return;
	}
	struct dns_connection *c = new0(struct dns_connection);
	c->resolver = r;
	c->fd = fd;
	list_append(&r->connections, &c->node);
	r->n_connections++;
	watch_start(r->poller, &c->watch, fd, POLLIN, on_stream);
	timeout_start(r->poller, &c->patience, PATIENCE_MS, on_patience);
}

/* --- sockets */

/* -errno. */
static int bind_one(int type)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(DNS_PORT),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	AUTO(closep) int fd = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || (type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
		return -errno;
	return take_fd(fd);
}

int resolver_open(struct resolver *r)
{
	int error = 0;
	if (r->udp_fd < 0) {
		int fd = bind_one(SOCK_DGRAM);
		error = MIN(fd, 0);
		r->udp_fd = MAX(fd, -1);
		if (fd >= 0)
			watch_start(r->poller, &r->udp_watch, fd, POLLIN, on_query);
	}
	if (r->tcp_fd < 0) {
		int fd = bind_one(SOCK_STREAM);
		error = error ? error : MIN(fd, 0);
		r->tcp_fd = MAX(fd, -1);
		if (fd >= 0)
			watch_start(r->poller, &r->tcp_watch, fd, POLLIN, on_connect);
	}
	return error;
}
