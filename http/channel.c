#include "http/channel.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/stream.h"

#define FINISH_MS 2000

_Static_assert(CHANNEL_FILES_MAX <= STREAM_DESCRIPTORS_MAX, "more than a stream sends");

struct channel {
	struct loop *loop;
	struct stream *stream;
	int fd; /* of the stream */
	struct tls *tls;
	struct buf plain, cipher; /* used within one call; kept to reuse their memory */
	struct channel_ops ops;
	void *ctx;
	struct timer *finish; /* limits channel_finish(); NULL = the channel has an owner */
	struct loop_owned owned;
	struct buf unread; /* to be delivered before anything else */
	struct timer *deliver;
	bool ended, broken, freed;
	unsigned depth; /* number of callbacks that are running */
};

static void enter(struct channel *c)
{
	c->depth++;
}

static void leave(struct channel *c)
{
	if (--c->depth || !c->freed)
		return;
	buf_release(&c->plain);
	buf_release(&c->cipher);
	buf_release(&c->unread);
	free(c);
}

struct channel *channel_free(struct channel *c)
{
	if (!c || c->freed)
		return NULL;
	enter(c);
	c->freed = true;
	loop_disown(&c->owned);
	c->stream = stream_free(c->stream);
	c->tls = tls_free(c->tls);
	c->finish = timer_free(c->finish);
	c->deliver = timer_free(c->deliver);
	leave(c);
	return NULL;
}

static void report_end(struct channel *c, int error)
{
	if (c->ended || c->freed)
		return;
	c->ended = true;
	c->broken = c->broken || error < 0;
	if (!c->finish)
		c->ops.on_eof(c->ctx, error);
	else if (c->broken || !stream_queued(c->stream))
		channel_free(c);
}

static void send_cipher(struct channel *c)
{
	if (c->cipher.len)
		stream_write(c->stream, c->cipher.data, c->cipher.len);
	buf_reset(&c->cipher);
}

static void receive_cipher(struct channel *c, const void *data, size_t n)
{
	buf_reset(&c->plain);
	int r = tls_receive(c->tls, data, n, &c->plain, &c->cipher);
	send_cipher(c);
	if (c->plain.len && !c->finish)
		c->ops.on_data(c->ctx, c->plain.data, c->plain.len);
	if (r != 0)
		report_end(c, r < 0 ? r : 0);
}

void channel_start_tls(struct channel *c, struct tls *tls, const void *data, size_t n)
{
	enter(c);
	c->tls = tls;
	receive_cipher(c, data, n);
	leave(c);
}

bool channel_is_shared(const struct channel *c)
{
	return c->tls && tls_is_shared(c->tls);
}

static void deliver_unread(struct channel *c)
{
	AUTO(buf_release) struct buf data = c->unread;
	c->unread = (struct buf){ 0 };
	if (data.len && !c->finish)
		c->ops.on_data(c->ctx, data.data, data.len);
}

static void on_deliver(void *ctx)
{
	struct channel *c = ctx;
	enter(c);
	deliver_unread(c);
	leave(c);
}

void channel_unread(struct channel *c, const void *data, size_t n)
{
	if (!n)
		return;
	buf_add(&c->unread, data, n);
	if (!c->deliver)
		c->deliver = timer_new(c->loop, on_deliver, c);
	timer_start(c->deliver, 0, 0);
}

static void on_data(void *ctx, const void *data, size_t n)
{
	struct channel *c = ctx;
	enter(c);
	deliver_unread(c);
	if (c->freed) {
		leave(c);
		return;
	}
	if (c->tls)
		receive_cipher(c, data, n);
	else if (!c->finish)
		c->ops.on_data(c->ctx, data, n);
	leave(c);
}

static void on_descriptor(void *ctx, int fd)
{
	struct channel *c = ctx;
	if (c->ops.on_descriptor && !c->finish && !c->freed)
		c->ops.on_descriptor(c->ctx, fd);
	else
		close(fd);
}

static void on_eof(void *ctx, int error)
{
	struct channel *c = ctx;
	enter(c);
	report_end(c, error);
	leave(c);
}

static void on_write_error(void *ctx, int error)
{
	struct channel *c = ctx;
	c->broken = true;
	on_eof(ctx, error);
}

static void on_hangup(void *ctx)
{
	on_eof(ctx, 0);
}

static void on_drained(void *ctx)
{
	struct channel *c = ctx;
	enter(c);
	if (c->finish && c->ended)
		channel_free(c);
	else if (c->finish)
		shutdown(c->fd, SHUT_WR);
	else if (c->ops.on_drained)
		c->ops.on_drained(c->ctx);
	leave(c);
}

static const struct stream_ops stream_ops = {
	.on_data = on_data,
	.on_eof = on_eof,
	.on_write_error = on_write_error,
	.on_drained = on_drained,
	.on_hangup = on_hangup,
};

static bool is_local(int fd)
{
	int domain = 0;
	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &(socklen_t){ sizeof(domain) }) == 0 && domain == AF_UNIX;
}

struct channel *channel_new(struct loop *loop, int fd, struct tls *tls, const struct channel_ops *ops, void *ctx)
{
	struct channel *c = new0(struct channel);
	c->loop = loop;
	c->fd = fd;
	c->tls = tls;
	c->ops = *ops;
	c->ctx = ctx;
	/* Answers are written in one piece, so waiting for more would only delay them. On a unix socket this call fails
	 * without harm. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	struct stream_ops used = stream_ops;
	if (ops->on_descriptor && !tls && is_local(fd))
		used.on_descriptor = on_descriptor;
	c->stream = stream_new(loop, fd, fd, &used, c);
	if (c->stream)
		return c;
	int error = errno;
	channel_free(c);
	errno = error;
	return NULL;
}

void channel_set_ops(struct channel *c, const struct channel_ops *ops, void *ctx)
{
	c->ops = *ops;
	c->ctx = ctx;
}

static void on_finish_timeout(void *ctx)
{
	channel_free(ctx);
}

void channel_finish(struct channel *c)
{
	if (c->broken || (c->ended && !stream_queued(c->stream))) {
		channel_free(c);
		return;
	}
	if (c->tls) {
		tls_finish(c->tls, &c->cipher);
		send_cipher(c);
	}
	c->finish = timer_new(c->loop, on_finish_timeout, c);
	timer_start(c->finish, FINISH_MS, 0);
	c->owned = (struct loop_owned){ .fn = on_finish_timeout, .ctx = c };
	loop_own(c->loop, &c->owned);
	stream_pause(c->stream, false);
	if (!stream_queued(c->stream))
		shutdown(c->fd, SHUT_WR);
}

int channel_write(struct channel *c, const void *data, size_t n)
{
	if (c->ended)
		return -EPIPE;
	if (!c->tls)
		return stream_write(c->stream, data, n);
	int r = tls_send(c->tls, data, n, &c->cipher);
	if (r == 0 && c->cipher.len)
		r = stream_write(c->stream, c->cipher.data, c->cipher.len);
	buf_reset(&c->cipher);
	return r;
}

int channel_write_with(struct channel *c, const void *data, size_t n, const int *files, size_t n_files)
{
	if (!n_files)
		return channel_write(c, data, n);
	if (c->ended || c->tls)
		return c->tls ? -EOPNOTSUPP : -EPIPE;
	return stream_write_with(c->stream, data, n, files, n_files);
}

size_t channel_queued(const struct channel *c)
{
	return stream_queued(c->stream);
}

void channel_pause(struct channel *c, bool paused)
{
	stream_pause(c->stream, paused);
}

int channel_fd(const struct channel *c)
{
	return c->fd;
}
