#include "base/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/watchdog.h"

/* Maximum accepted in one turn of the loop, so that other events are handled too. */
#define ACCEPTS_A_TURN 16

struct listener {
	int fd;
	uv_poll_t poll;
	void (*on_connection)(void *ctx, int fd);
	void *ctx;
	bool freed, accepting, closed;
};

static void release_if_closed(struct listener *l)
{
	if (l->closed && !l->accepting)
		free(l);
}

static void on_closed(uv_handle_t *handle)
{
	struct listener *l = handle->data;
	l->closed = true;
	release_if_closed(l);
}

static void on_readable(uv_poll_t *handle, int status, int events UNUSED)
{
	struct listener *l = handle->data;
	watchdog_note("a new connection");
	l->accepting = true;
	for (int i = 0; status == 0 && i < ACCEPTS_A_TURN && !l->freed; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			break;
		l->on_connection(l->ctx, fd);
	}
	l->accepting = false;
	release_if_closed(l);
}

struct listener *listener_new(struct loop *loop, int fd, void (*on_connection)(void *ctx, int fd), void *ctx)
{
	struct listener *l = new0(struct listener);
	l->fd = fd;
	l->on_connection = on_connection;
	l->ctx = ctx;
	l->poll.data = l;
	int flags = fcntl(fd, F_GETFL);
	int r = flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno :
									  uv_poll_init(loop_raw(loop), &l->poll, fd);
	if (r < 0) {
		closep(&l->fd);
		free(l);
		errno = -r;
		return NULL;
	}
	l->poll.data = l;
	uv_poll_start(&l->poll, UV_READABLE, on_readable);
	return l;
}

struct listener *listener_free(struct listener *l)
{
	if (!l || l->freed)
		return NULL;
	l->freed = true;
	uv_close((uv_handle_t *)&l->poll, on_closed);
	closep(&l->fd);
	return NULL;
}
