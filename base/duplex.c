#include "base/duplex.h"

#include <errno.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/watchdog.h"

/* How often one event may read, so that other events are handled too. */
#define READS_A_TURN 8

struct duplex {
	int fd;
	uv_poll_t poll;
	struct duplex_ops ops;
	void *ctx;
	struct buf out;
	struct timer *soon; /* reports what happened inside a call */
	size_t sent;	    /* accepted by the system, not reported yet */
	int error;	    /* not reported yet */
	int events;
	bool connecting, paused, in_ended, ends, out_shut;
	bool freed, closed;
	unsigned depth;
};

static void enter(struct duplex *d)
{
	d->depth++;
}

static void leave(struct duplex *d)
{
	if (--d->depth || !d->freed || !d->closed)
		return;
	buf_release(&d->out);
	free(d);
}

static void on_closed(uv_handle_t *handle)
{
	struct duplex *d = handle->data;
	enter(d);
	d->closed = true;
	leave(d);
}

static void on_event(uv_poll_t *handle, int status, int events);

static void watch_for_more(struct duplex *d)
{
	int events = d->error || d->freed ? 0 :
		     d->connecting	  ? UV_WRITABLE :
					    (d->paused || d->in_ended ? 0 : UV_READABLE) | (d->out.len ? UV_WRITABLE : 0);
	if (events == d->events)
		return;
	d->events = events;
	if (events)
		uv_poll_start(&d->poll, events, on_event);
	else
		uv_poll_stop(&d->poll);
}

/* Nothing is called from inside the functions of the caller. */
static void report_later(struct duplex *d)
{
	if ((d->sent || d->error) && !timer_active(d->soon))
		timer_start(d->soon, 0, 0);
}

static void break_off(struct duplex *d, int error)
{
	if (!d->error)
		d->error = error;
	report_later(d);
}

static void write_out(struct duplex *d)
{
	size_t done = 0;
	while (done < d->out.len && !d->error) {
		ssize_t n = send(d->fd, d->out.data + done, d->out.len - done, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			break_off(d, -errno);
	}
	buf_consume(&d->out, done);
	d->sent += done;
	if (d->ends && !d->out.len && !d->out_shut && !d->error) {
		d->out_shut = true;
		(void)shutdown(d->fd, SHUT_WR);
	}
}

static void report(struct duplex *d)
{
	size_t sent = d->sent;
	d->sent = 0;
	if (sent)
		d->ops.on_sent(d->ctx, sent);
	int error = d->freed ? 0 : d->error;
	if (error && d->events >= 0) {
		d->events = -1; /* reported */
		uv_poll_stop(&d->poll);
		d->ops.on_error(d->ctx, error);
	}
}

static void on_soon(void *ctx)
{
	struct duplex *d = ctx;
	enter(d);
	report(d);
	leave(d);
}

/* True if there may be more. */
static bool read_some(struct duplex *d)
{
	static uint8_t data[DUPLEX_READ_MAX];
	ssize_t n = recv(d->fd, data, sizeof(data), MSG_DONTWAIT);
	if (n > 0) {
		d->ops.on_data(d->ctx, data, (size_t)n);
	} else if (n == 0) {
		d->in_ended = true;
		d->ops.on_finish(d->ctx);
	} else if (errno != EAGAIN && errno != EINTR) {
		d->error = -errno;
	}
	return n == (ssize_t)sizeof(data);
}

static void on_connected(struct duplex *d)
{
	int error = 0;
	socklen_t n = sizeof(error);
	if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
		error = errno;
	d->connecting = false;
	if (error) {
		d->events = -1;
		uv_poll_stop(&d->poll);
	}
	d->ops.on_connected(d->ctx, -error);
}

static void on_event(uv_poll_t *handle, int status, int events)
{
	struct duplex *d = handle->data;
	watchdog_note("bytes of a stream");
	enter(d);
	if (status < 0)
		d->events = 0; /* libuv has stopped the poll */
	if (d->connecting) {
		on_connected(d);
	} else {
		if (events & UV_WRITABLE)
			write_out(d);
		/* An error of the poll itself shows in the next read. */
		bool more = (events & UV_READABLE) || status < 0;
		for (int i = 0; i < READS_A_TURN && more && !d->paused && !d->in_ended && !d->error && !d->freed; i++)
			more = read_some(d);
		if (!d->freed)
			report(d);
	}
	if (!d->freed && d->events >= 0)
		watch_for_more(d);
	leave(d);
}

struct duplex *duplex_new(struct loop *loop, int fd, bool connecting, bool paused, const struct duplex_ops *ops,
			  void *ctx)
{
	struct duplex *d = new0(struct duplex);
	*d = (struct duplex){ .fd = fd, .ops = *ops, .ctx = ctx, .connecting = connecting, .paused = paused };
	int r = uv_poll_init(loop_raw(loop), &d->poll, fd);
	if (r < 0) {
		closep(&d->fd);
		free(d);
		errno = -r;
		return NULL;
	}
	d->poll.data = d;
	d->soon = timer_new(loop, on_soon, d);
	watch_for_more(d);
	return d;
}

struct duplex *duplex_free(struct duplex *d)
{
	if (!d || d->freed)
		return NULL;
	enter(d);
	d->freed = true;
	d->soon = timer_free(d->soon);
	uv_close((uv_handle_t *)&d->poll, on_closed);
	closep(&d->fd);
	leave(d);
	return NULL;
}

struct duplex *duplex_reset(struct duplex *d)
{
	if (d && !d->freed)
		setsockopt(d->fd, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
	return duplex_free(d);
}

void duplex_write(struct duplex *d, const void *data, size_t n)
{
	if (d->freed || d->ends)
		return;
	buf_add(&d->out, data, n);
	if (!d->connecting)
		write_out(d);
	report_later(d);
	if (d->events >= 0)
		watch_for_more(d);
}

void duplex_end(struct duplex *d)
{
	if (d->freed)
		return;
	d->ends = true;
	if (!d->connecting)
		write_out(d);
	report_later(d);
}

void duplex_pause(struct duplex *d, bool paused)
{
	d->paused = paused;
	if (!d->freed && d->events >= 0)
		watch_for_more(d);
}
