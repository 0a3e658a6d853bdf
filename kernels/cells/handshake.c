#include "kernels/cells/handshake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "kernels/cells/link.h"
#include "kernels/cells/tcp-owner.h"

#define BACKLOG 16
#define ACCEPTS_A_TURN 16

static int random_hex(char out[HANDSHAKE_TOKEN_LEN + 1])
{
	uint8_t bytes[HANDSHAKE_TOKEN_LEN / 2];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Constant time: the duration does not reveal how much of a guess was right. */
static bool token_matches(const char *mine, const char *theirs)
{
	volatile uint8_t difference = 0;
	if (strlen(theirs) != HANDSHAKE_TOKEN_LEN)
		return false;
	for (size_t i = 0; i < HANDSHAKE_TOKEN_LEN; i++)
		difference |= (uint8_t)(mine[i] ^ theirs[i]);
	return difference == 0;
}

static void drop_candidate(struct candidate *c)
{
	watch_stop(&c->watch);
	timeout_stop(&c->patience);
	closep(&c->fd);
	buf_release(&c->in);
}

static void on_patience(struct timeout *t)
{
	drop_candidate(container_of(t, struct candidate, patience));
}

/* Only the kernel has the other end of a socket pair. Over TCP the token is not enough: another process could have
 * read it. */
static bool is_kernel(const struct candidate *c, const struct link_message *m)
{
	const struct handshake *h = c->handshake;
	return h->fd < 0 || (m->token && token_matches(h->token, m->token) && tcp_belongs_to(c->fd, h->kernel));
}

static void refuse_candidate(struct candidate *c, const char *why)
{
	struct handshake *h = c->handshake;
	bool is_pair = h->fd < 0;
	drop_candidate(c);
	if (is_pair)
		h->on_refused(h, why);
}

/* The message is complete: accept the sender as the kernel, or disconnect it. */
static void judge(struct candidate *c, const uint8_t *data, size_t n)
{
	struct handshake *h = c->handshake;
	struct link_message m;
	const char *why = "sent something other than a hello";
	if (link_parse(data, n, &m, &why) < 0) {
		refuse_candidate(c, why);
		return;
	}
	if (m.op == LINK_HELLO && is_kernel(c, &m)) {
		int fd = take_fd(c->fd);
		watch_stop(&c->watch);
		/* Closing the handshake frees the candidate, and the message with it. */
		char version[64];
		snprintf(version, sizeof(version), "%s", m.language_version);
		h->lists_variables = m.lists_variables;
		h->queries = m.queries;
		h->forks = m.forks;
		bool speaks = m.version == LINK_VERSION;
		link_message_release(&m);
		handshake_stop(h);
		if (speaks) {
			h->on_open(h, fd, version);
			return;
		}
		close(fd);
		h->on_refused(h, "speaks another version of the kernel link");
		return;
	}
	link_message_release(&m);
	refuse_candidate(c, why);
}

static void on_candidate(struct watch *w, short revents)
{
	struct candidate *c = container_of(w, struct candidate, watch);
	uint8_t *at = buf_reserve(&c->in, HANDSHAKE_HELLO_MAX + LINK_HEADER_SIZE - c->in.len);
	ssize_t n = recv(c->fd, at, HANDSHAKE_HELLO_MAX + LINK_HEADER_SIZE - c->in.len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		drop_candidate(c);
		return;
	}
	c->in.len += (size_t)n;
	if (c->in.len < LINK_HEADER_SIZE)
		return;
	const uint8_t *h = c->in.data;
	size_t length = (size_t)h[0] << 24 | (size_t)h[1] << 16 | (size_t)h[2] << 8 | h[3];
	size_t have = c->in.len - LINK_HEADER_SIZE;
	if (length > HANDSHAKE_HELLO_MAX || have > length)
		refuse_candidate(c, "sent something other than a hello");
	else if (have == length)
		judge(c, h + LINK_HEADER_SIZE, length);
}

static void let_speak(struct handshake *h, struct candidate *c, int fd)
{
	c->handshake = h;
	c->fd = fd;
	watch_start(h->poller, &c->watch, fd, POLLIN, on_candidate);
}

static struct candidate *free_place(struct handshake *h)
{
	for (size_t i = 0; i < HANDSHAKE_CANDIDATES_MAX; i++)
		if (h->candidates[i].fd < 0)
			return &h->candidates[i];
	return NULL;
}

static void on_connection(struct watch *w, short revents)
{
	struct handshake *h = container_of(w, struct handshake, watch);
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd = accept4(h->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		struct candidate *c = free_place(h);
		/* Sandbox code could fill all slots, so only connections of the kernel's process get one. */
		if (!c || !tcp_belongs_to(fd, h->kernel)) {
			close(fd);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		let_speak(h, c, fd);
		timeout_start(h->poller, &c->patience, HANDSHAKE_PATIENCE_MS, on_patience);
	}
}

static int make_pair(struct handshake *h)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	let_speak(h, &h->candidates[0], ends[0]);
	h->inherited_fd = ends[1];
	snprintf(h->address, sizeof(h->address), "fd:%d", LINK_FD);
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* A pipe can be read once: after the kernel has read the token, no other process can get it. */
static int put_token(struct handshake *h)
{
	int ends[2];
	int r = random_hex(h->token);
	if (r < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return r < 0 ? r : -errno;
	h->inherited_fd = ends[0];
	r = dprintf(ends[1], "%s\n", h->token) < 0 ? -errno : 0;
	close(ends[1]);
	return r;
}

static int listen_tcp(struct handshake *h, uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	snprintf(h->address, sizeof(h->address), "tcp:127.0.0.1:%u", port);
	h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (h->fd < 0)
		return -errno;
	setsockopt(h->fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(h->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(h->fd, BACKLOG) < 0)
		return -errno;
	watch_start(h->poller, &h->watch, h->fd, POLLIN, on_connection);
	return put_token(h);
}

int handshake_start(struct handshake *h, struct poller *p, uint16_t tcp_port)
{
	h->poller = p;
	h->fd = h->inherited_fd = -1;
	h->kernel = 0;
	for (size_t i = 0; i < HANDSHAKE_CANDIDATES_MAX; i++)
		h->candidates[i] =
			(struct candidate){ .fd = -1, .in = { .max = HANDSHAKE_HELLO_MAX + LINK_HEADER_SIZE } };
	int r = tcp_port ? listen_tcp(h, tcp_port) : make_pair(h);
	if (r < 0)
		handshake_stop(h);
	return r;
}

void handshake_watch(struct handshake *h, pid_t kernel)
{
	h->kernel = kernel;
	closep(&h->inherited_fd);
}

void handshake_stop(struct handshake *h)
{
	if (!h->poller)
		return;
	watch_stop(&h->watch);
	closep(&h->fd);
	closep(&h->inherited_fd);
	for (size_t i = 0; i < HANDSHAKE_CANDIDATES_MAX; i++)
		drop_candidate(&h->candidates[i]);
	explicit_bzero(h->token, sizeof(h->token));
}
