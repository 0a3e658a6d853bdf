#include "kernels/jupyter/uplink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/parse.h"
#include "kernels/system/frames.h"

#define TOKEN_MAX 128
#define READ_BYTES (64u << 10)
/* PID 1 reads all the time; if it does not, it is about to kill this process. */
#define TAKEN_MS 10000
/* A cell of CODE_BYTES_MAX with every byte escaped. */
#define INCOMING_MAX (6 * CODE_BYTES_MAX + 4096)

static char *take_env(const char *name)
{
	const char *value = getenv(name);
	char *copy = value ? xstrdup(value) : NULL;
	unsetenv(name);
	return copy;
}

static int take_number(const char *value)
{
	uint64_t fd;
	if (!value || parse_u64(value, &fd) < 0 || fd > INT32_MAX || fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	return (int)fd;
}

static int read_token(struct uplink *u, int fd, struct fail *f)
{
	char line[TOKEN_MAX + 1];
	ssize_t n = read(fd, line, TOKEN_MAX);
	if (n <= 0)
		return fail_set(f, FAIL_INVALID, "HUSK_TOKEN_FD has no token");
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	u->token = xstrdup(line);
	explicit_bzero(line, sizeof(line));
	return 0;
}

int uplink_take(struct uplink *ret, struct fail *f)
{
	AUTO(freep) char *token_fd = take_env("HUSK_TOKEN_FD");
	AUTO(freep) char *taken_fd = take_env("HUSK_TAKEN_FD");
	*ret = (struct uplink){ .fd = -1, .address = take_env("HUSK_LINK"), .taken_fd = take_number(taken_fd) };
	if (!ret->address)
		return fail_set(f, FAIL_INVALID, "HUSK_LINK is not set: PID 1 of a Husk container starts this program");
	if (strncmp(ret->address, "fd:", 3) == 0) {
		ret->fd = take_number(ret->address + 3);
		return ret->fd >= 0 ? 0 :
				      fail_set(f, FAIL_INVALID, "HUSK_LINK does not name an open descriptor: '%s'",
					       ret->address);
	}
	AUTO(closep) int fd = take_number(token_fd);
	return fd >= 0 ? read_token(ret, fd, f) :
			 fail_set(f, FAIL_INVALID, "HUSK_TOKEN_FD does not name an open descriptor");
}

static int dial_tcp(const char *where)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	const char *colon = strrchr(where, ':');
	AUTO(freep) char *host = colon ? xstrndup(where, (size_t)(colon - where)) : NULL;
	uint64_t port;
	if (!host || parse_u64(colon + 1, &port) < 0 || port > 65535 || inet_pton(AF_INET, host, &sa.sin_addr) != 1)
		return errno = EINVAL, -1;
	sa.sin_port = htons((uint16_t)port);
	AUTO(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return take_fd(fd);
}

int uplink_hello(struct uplink *u, const char *language_version, struct fail *f)
{
	if (u->fd < 0)
		u->fd = strncmp(u->address, "tcp:", 4) == 0 ? dial_tcp(u->address + 4) : -1;
	if (u->fd < 0)
		return fail_set(f, FAIL_INVALID, "cannot connect to the kernel link '%s': %m", u->address);
	json_auto_t *hello = json_pack("{s:s, s:s*, s:i, s:s, s:b}", "op", "hello", "token", u->token, "version",
				       LINK_VERSION, "language_version", language_version, "queries", 1);
	return uplink_send(u, hello) < 0 ? fail_set(f, FAIL_INVALID, "cannot say hello on the kernel link") : 0;
}

void uplink_release(struct uplink *u)
{
	closep(&u->fd);
	closep(&u->taken_fd);
	free(take_ptr(u->address));
	free(take_ptr(u->token));
	buf_release(&u->in);
	buf_release(&u->out);
}

static int write_all(int fd, const uint8_t *data, size_t n)
{
	while (n) {
		ssize_t written = send(fd, data, n, MSG_NOSIGNAL);
		if (written < 0 && errno == EAGAIN) {
			struct pollfd p = { .fd = fd, .events = POLLOUT };
			(void)poll(&p, 1, -1);
			continue;
		}
		if (written < 0 && errno != EINTR)
			return -EPIPE;
		data += MAX(written, 0);
		n -= (size_t)MAX(written, 0);
	}
	return 0;
}

static bool is_confirmed(const json_t *message)
{
	const char *op = json_string_value(json_object_get(message, "op"));
	return op && (streq(op, "display") || streq(op, "sync"));
}

void uplink_cork(struct uplink *u)
{
	u->corked = true;
}

void uplink_uncork(struct uplink *u)
{
	if (u->out.len && u->fd >= 0)
		(void)write_all(u->fd, u->out.data, u->out.len);
	buf_reset(&u->out);
	u->corked = false;
}

void uplink_settle(struct uplink *u)
{
	char bytes[64];
	uplink_uncork(u);
	while (u->untaken && u->taken_fd >= 0) {
		struct pollfd p = { .fd = u->taken_fd, .events = POLLIN };
		int ready = poll(&p, 1, TAKEN_MS);
		if (ready < 0 && errno == EINTR)
			continue;
		ssize_t n = ready > 0 ? read(u->taken_fd, bytes, MIN(sizeof(bytes), (size_t)u->untaken)) : -1;
		if (n <= 0)
			closep(&u->taken_fd); /* output may be out of order, but is not lost */
		else
			u->untaken -= (unsigned)n;
	}
}

int uplink_send(struct uplink *u, const json_t *message)
{
	AUTO(buf_release) struct buf out = { 0 };
	uint8_t header[LINK_HEADER_SIZE] = { 0 };
	(void)buf_add(&out, header, sizeof(header));
	if (message)
		json_print(&out, message);
	size_t n = out.len - sizeof(header);
	if (!n || n > LINK_MESSAGE_MAX)
		return -EMSGSIZE;
	for (int i = 0; i < LINK_HEADER_SIZE; i++)
		out.data[i] = (uint8_t)(n >> (24 - 8 * i));
	u->untaken += is_confirmed(message);
	if (u->corked)
		return buf_add(&u->out, out.data, out.len);
	return u->fd < 0 ? -EPIPE : write_all(u->fd, out.data, out.len);
}

int uplink_read(struct uplink *u)
{
	buf_consume(&u->in, u->used);
	u->used = 0;
	uint8_t *at = buf_reserve(&u->in, READ_BYTES);
	ssize_t n = recv(u->fd, at, READ_BYTES, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -EPIPE;
	u->in.len += (size_t)n;
	return 0;
}

int uplink_next(struct uplink *u, json_t **ret)
{
	const uint8_t *at = u->in.data + u->used;
	size_t left = u->in.len - u->used;
	if (left < LINK_HEADER_SIZE)
		return 0;
	size_t n = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
	if (!n || n > INCOMING_MAX)
		return -EPROTO;
	if (left - LINK_HEADER_SIZE < n)
		return 0;
	json_t *message = json_parse(at + LINK_HEADER_SIZE, n, JSON_ALLOW_NUL);
	u->used += LINK_HEADER_SIZE + n;
	if (!json_is_object(message)) {
		json_decref(message);
		return -EPROTO;
	}
	*ret = message;
	return 1;
}
