#include "kernels/door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "kernels/link.h"

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

/* Time does not tell how much of a guess was right. */
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

static bool in_session(const struct door *d, int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return false;
	return getsid(peer.pid) == d->session;
}

static bool is_unix(const struct door *d)
{
	return strncmp(d->address, "unix:", 5) == 0;
}

/* The message is whole: the kernel, or nobody. */
static void judge(struct stranger *s, const uint8_t *data, size_t n)
{
	struct door *d = s->door;
	struct link_message m;
	const char *why;
	if (link_parse(data, n, &m, &why) < 0) {
		send_away(s);
		return;
	}
	bool ours = m.op == LINK_HELLO && token_matches(d->token, m.token) && (!is_unix(d) || in_session(d, s->fd));
	if (ours) {
		int fd = take_fd(s->fd);
		watch_stop(&s->watch);
		/* The message's memory belongs to the stranger, whom closing the door sends away. */
		char version[64];
		snprintf(version, sizeof(version), "%s", m.language_version);
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
	send_away(s);
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
		send_away(s);
	else if (have == length)
		judge(s, h + LINK_HEADER_SIZE, length);
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
		/* Sandbox code can fill the places; those that are not the kernel's session need none. */
		if (!s || (is_unix(d) && !in_session(d, fd))) {
			close(fd);
			continue;
		}
		s->door = d;
		s->fd = fd;
		if (!is_unix(d))
			setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
		watch_start(d->poller, &s->watch, fd, POLLIN, on_stranger);
		timeout_start(d->poller, &s->patience, DOOR_PATIENCE_MS, on_patience);
	}
}

static int listen_unix(struct door *d)
{
	char name[DOOR_TOKEN_LEN + 1];
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	if (random_hex(name) < 0)
		return -EIO;
	int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "husk-kernel-%.16s", name);
	snprintf(d->address, sizeof(d->address), "unix:@%s", sa.sun_path + 1);
	d->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return d->fd < 0 || bind(d->fd, (struct sockaddr *)&sa, len) < 0 ? -errno : 0;
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
	return bind(d->fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ? -errno : 0;
}

int door_open(struct door *d, struct poller *p, uint16_t tcp_port)
{
	d->poller = p;
	d->fd = -1;
	d->session = 0;
	for (size_t i = 0; i < DOOR_STRANGERS_MAX; i++)
		d->strangers[i] = (struct stranger){ .fd = -1, .in = { .max = DOOR_HELLO_MAX + LINK_HEADER_SIZE } };
	int r = random_hex(d->token);
	if (r == 0)
		r = tcp_port ? listen_tcp(d, tcp_port) : listen_unix(d);
	if (r == 0 && listen(d->fd, BACKLOG) < 0)
		r = -errno;
	if (r < 0) {
		closep(&d->fd);
		return r;
	}
	watch_start(p, &d->watch, d->fd, POLLIN, on_knock);
	return 0;
}

void door_close(struct door *d)
{
	if (!d->poller)
		return;
	watch_stop(&d->watch);
	closep(&d->fd);
	for (size_t i = 0; i < DOOR_STRANGERS_MAX; i++)
		send_away(&d->strangers[i]);
	explicit_bzero(d->token, sizeof(d->token));
}
