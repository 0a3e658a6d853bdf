#include "kernels/cells/door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "kernels/cells/link.h"
#include "kernels/cells/peer.h"

#define BACKLOG 16
#define ACCEPTS_A_TURN 16

static int random_hex(char out[DOOR_TOKEN_LEN + 1])
{
	uint8_t bytes[DOOR_TOKEN_LEN / 2];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Constant time: how long it takes does not reveal how much of a guess was right. */
static bool token_matches(const char *mine, const char *theirs)
{
	volatile uint8_t difference = 0;
	if (strlen(theirs) != DOOR_TOKEN_LEN)
		return false;
	for (size_t i = 0; i < DOOR_TOKEN_LEN; i++)
		difference |= (uint8_t)(mine[i] ^ theirs[i]);
	return difference == 0;
}

static void send_away(struct stranger *s)
{
	watch_stop(&s->watch);
	timeout_stop(&s->patience);
	closep(&s->fd);
	buf_release(&s->in);
}

static void on_patience(struct timeout *t)
{
	send_away(container_of(t, struct stranger, patience));
}

/* Nobody else has the other end of a pair. Over TCP the token alone is not enough: another process could have read it. */
static bool is_kernel(const struct stranger *s, const struct link_message *m)
{
	const struct door *d = s->door;
	return d->fd < 0 || (m->token && token_matches(d->token, m->token) && peer_belongs_to(s->fd, d->kernel));
}

static void disappoint(struct stranger *s, const char *why)
{
	struct door *d = s->door;
	bool is_pair = d->fd < 0;
	send_away(s);
	if (is_pair)
		d->on_refused(d, why);
}

/* The message is complete: either this is the kernel, or it is turned away. */
static void judge(struct stranger *s, const uint8_t *data, size_t n)
{
	struct door *d = s->door;
	struct link_message m;
	const char *why = "sent something other than a hello";
	if (link_parse(data, n, &m, &why) < 0) {
		disappoint(s, why);
		return;
	}
	if (m.op == LINK_HELLO && is_kernel(s, &m)) {
		int fd = take_fd(s->fd);
		watch_stop(&s->watch);
		/* Closing the door frees the stranger and with it the message. */
		char version[64];
		snprintf(version, sizeof(version), "%s", m.language_version);
		d->looks = m.looks;
		d->queries = m.queries;
		bool speaks = m.version == LINK_VERSION;
		link_message_release(&m);
		door_close(d);
		if (speaks) {
			d->on_open(d, fd, version);
			return;
		}
		close(fd);
		d->on_refused(d, "speaks another version of the kernel link");
		return;
	}
	link_message_release(&m);
	disappoint(s, why);
}

static void on_stranger(struct watch *w, short revents)
{
	struct stranger *s = container_of(w, struct stranger, watch);
	uint8_t *at = buf_reserve(&s->in, DOOR_HELLO_MAX + LINK_HEADER_SIZE - s->in.len);
	ssize_t n = recv(s->fd, at, DOOR_HELLO_MAX + LINK_HEADER_SIZE - s->in.len, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		send_away(s);
		return;
	}
	s->in.len += (size_t)n;
	if (s->in.len < LINK_HEADER_SIZE)
		return;
	const uint8_t *h = s->in.data;
	size_t length = (size_t)h[0] << 24 | (size_t)h[1] << 16 | (size_t)h[2] << 8 | h[3];
	size_t have = s->in.len - LINK_HEADER_SIZE;
	if (length > DOOR_HELLO_MAX || have > length)
		disappoint(s, "sent something other than a hello");
	else if (have == length)
		judge(s, h + LINK_HEADER_SIZE, length);
}

static void let_speak(struct door *d, struct stranger *s, int fd)
{
	s->door = d;
	s->fd = fd;
	watch_start(d->poller, &s->watch, fd, POLLIN, on_stranger);
}

static struct stranger *free_place(struct door *d)
{
	for (size_t i = 0; i < DOOR_STRANGERS_MAX; i++)
		if (d->strangers[i].fd < 0)
			return &d->strangers[i];
	return NULL;
}

static void on_knock(struct watch *w, short revents)
{
	struct door *d = container_of(w, struct door, watch);
	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd = accept4(d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		struct stranger *s = free_place(d);
		/* Sandbox code could fill all the places, so only connections of the kernel's process get one. */
		if (!s || !peer_belongs_to(fd, d->kernel)) {
			close(fd);
			continue;
		}
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		let_speak(d, s, fd);
		timeout_start(d->poller, &s->patience, DOOR_PATIENCE_MS, on_patience);
	}
}

static int make_pair(struct door *d)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	let_speak(d, &d->strangers[0], ends[0]);
	d->inherited_fd = ends[1];
	snprintf(d->address, sizeof(d->address), "fd:%d", LINK_FD);
	return fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* A pipe can be read once: when the kernel has the token, nobody else can get it. */
static int put_token(struct door *d)
{
	int ends[2];
	int r = random_hex(d->token);
	if (r < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return r < 0 ? r : -errno;
	d->inherited_fd = ends[0];
	r = dprintf(ends[1], "%s\n", d->token) < 0 ? -errno : 0;
	close(ends[1]);
	return r;
}

static int listen_tcp(struct door *d, uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	snprintf(d->address, sizeof(d->address), "tcp:127.0.0.1:%u", port);
	d->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		return -errno;
	setsockopt(d->fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(d->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(d->fd, BACKLOG) < 0)
		return -errno;
	watch_start(d->poller, &d->watch, d->fd, POLLIN, on_knock);
	return put_token(d);
}

int door_open(struct door *d, struct poller *p, uint16_t tcp_port)
{
	d->poller = p;
	d->fd = d->inherited_fd = -1;
	d->kernel = 0;
	for (size_t i = 0; i < DOOR_STRANGERS_MAX; i++)
		d->strangers[i] = (struct stranger){ .fd = -1, .in = { .max = DOOR_HELLO_MAX + LINK_HEADER_SIZE } };
	int r = tcp_port ? listen_tcp(d, tcp_port) : make_pair(d);
	if (r < 0)
		door_close(d);
	return r;
}

void door_watch(struct door *d, pid_t kernel)
{
	d->kernel = kernel;
	closep(&d->inherited_fd);
}

void door_close(struct door *d)
{
	if (!d->poller)
		return;
	watch_stop(&d->watch);
	closep(&d->fd);
	closep(&d->inherited_fd);
	for (size_t i = 0; i < DOOR_STRANGERS_MAX; i++)
		send_away(&d->strangers[i]);
	explicit_bzero(d->token, sizeof(d->token));
}
