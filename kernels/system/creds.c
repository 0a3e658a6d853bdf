#include "kernels/system/creds.h"

#include <errno.h>

#define CREDS_BYTE "?"

int creds_of_peer(int fd, struct ucred *ret)
{
	socklen_t n = sizeof(*ret);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &n) < 0)
		return -errno;
	return ret->pid == getpid() ? -ENOTSUP : 0;
}

int creds_expect(int fd)
{
	return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)) < 0 ? -errno : 0;
}

int creds_send(int fd)
{
	ssize_t n = send(fd, CREDS_BYTE, 1, MSG_NOSIGNAL);
	return n < 0 ? -errno : n == 1 ? 0 : -EIO;
}

/* Closes received descriptors: no client has a reason to send any. */
static void close_descriptors(const struct cmsghdr *c)
{
	for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
		int fd;
		memcpy(&fd, (const uint8_t *)c + at, sizeof(fd));
		close(fd);
	}
}

int creds_receive(int fd, struct ucred *ret)
{
	char byte;
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(*ret))];
	struct iovec io = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return n < 0 ? -errno : -ECONNRESET;
	int r = -EPERM;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_RIGHTS)
			close_descriptors(c);
		if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len == CMSG_LEN(sizeof(*ret))) {
			memcpy(ret, CMSG_DATA(c), sizeof(*ret));
			r = 0;
		}
	}
	return r;
}
