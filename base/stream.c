/* Byte streams by readiness (uv_poll) and plain read/write: one path for pipes, sockets and terminals. epoll does
 * not accept regular files, which are always ready, so they are read by an idle handle. */
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <uv.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/watchdog.h"

#define READ_CHUNK 65536
/* Maximum read in one turn of the loop, so that other events are handled too. */
#define READS_PER_TURN 4
#define QUEUE_MAX_DEFAULT (64u << 20)

struct side {
	int fd;
	int saved_flags; /* O_NONBLOCK belongs to the open file description, so it is restored on close */
	bool is_file;
	bool open;
	int armed; /* watched events */
	uv_poll_t poll;
	uv_idle_t idle;
};

/* Descriptors waiting in the queue. */
struct outgoing {
	struct list node;
	uint64_t at; /* offset in the stream of the byte they are sent with */
	int fds[STREAM_DESCRIPTORS_MAX];
	size_t n;
};
/* Room for the descriptors of one read or write. The system closes received ones that do not fit. */
union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(STREAM_DESCRIPTORS_MAX * sizeof(int))];
};

struct stream {
	struct side in, out;
	struct loop *loop;
	struct stream_ops ops;
	void *ctx;
	struct buf queue;
	size_t queue_at; /* bytes of queue already written */
	size_t queue_max;
	uint64_t written;     /* total bytes */
	struct list outgoing; /* list of struct outgoing, ordered by offset */
	bool paused, hung_up, eof, write_failed, freed, dispatching;
	unsigned handles; /* not yet closed by libuv */
};

static void outgoing_free(struct outgoing *o)
{
	list_remove(&o->node);
	for (size_t i = 0; i < o->n; i++)
		close(o->fds[i]);
	free(o);
}

static void drop_outgoing(struct stream *s)
{
	list_for_each(o, &s->outgoing, struct outgoing, node)
		outgoing_free(o);
}

static void release_if_closed(struct stream *s)
{
	if (!s->freed || s->handles || s->dispatching)
		return;
	buf_release(&s->queue);
	drop_outgoing(s);
	free(s);
}

static void handle_closed(uv_handle_t *handle)
{
	struct stream *s = handle->data;
	s->handles--;
	release_if_closed(s);
}

static void side_close(struct side *side)
{
	if (!side->open)
		return;
	side->open = false;
	if (side->is_file)
		uv_close((uv_handle_t *)&side->idle, handle_closed);
	else
		uv_close((uv_handle_t *)&side->poll, handle_closed);
}

static int side_open(struct stream *s, struct side *side, int fd)
{
	struct stat st;
	side->fd = fd;
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) < 0)
		return -errno;
	uv_loop_t *loop = loop_raw(s->loop);
	side->saved_flags = fcntl(fd, F_GETFL);
	if (side->saved_flags < 0 || fcntl(fd, F_SETFL, side->saved_flags | O_NONBLOCK) < 0)
		return -errno;
	/* EPERM is how epoll says that the descriptor never waits: regular files, /dev/null. */
	int r = S_ISREG(st.st_mode) ? UV_EPERM : uv_poll_init(loop, &side->poll, fd);
	if (r < 0 && r != UV_EPERM)
		return r;
	side->is_file = r == UV_EPERM;
	side->poll.data = s;
	if (side->is_file) {
		uv_idle_init(loop, &side->idle);
		side->idle.data = s;
	}
	side->open = true;
	s->handles++;
	return 0;
}

static void read_some(struct stream *s);
static void write_some(struct stream *s);
static void rearm(struct stream *s);

static void tell_hangup(struct stream *s)
{
	s->hung_up = true;
	if (s->ops.on_hangup)
		s->ops.on_hangup(s->ctx);
}

/* Sends what the callbacks wrote, without waiting for the loop to report that the descriptor is writable. Frees a
 * stream that a callback released. */
static void end_dispatch(struct stream *s)
{
	if (!s->freed)
		write_some(s);
	s->dispatching = false;
	if (s->freed)
		release_if_closed(s);
	else
		rearm(s);
}

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct stream *s = handle->data;
	watchdog_note("a stream");
	s->dispatching = true;
	bool input = handle == &s->in.poll;
	if (input && !s->paused && !s->eof && (events & (UV_READABLE | UV_DISCONNECT) || status < 0))
		read_some(s);
	else if (input && s->paused && !s->hung_up && events & UV_DISCONNECT)
		tell_hangup(s);
	end_dispatch(s);
}

static void on_idle(uv_idle_t *handle)
{
	struct stream *s = handle->data;
	watchdog_note("a file");
	s->dispatching = true;
	if (handle == &s->in.idle)
		read_some(s);
	end_dispatch(s);
}

/* libuv makes two system calls for each start, even if nothing changes. */
static void arm(struct side *side, int events)
{
	if (!side->open || events == side->armed)
		return;
	side->armed = events;
	if (side->is_file && events)
		uv_idle_start(&side->idle, on_idle);
	else if (side->is_file)
		uv_idle_stop(&side->idle);
	else if (events)
		uv_poll_start(&side->poll, events, on_poll);
	else
		uv_poll_stop(&side->poll);
}

/* Watches only what is needed, so that a full pipe or a paused reader does not make the loop spin. */
static void rearm(struct stream *s)
{
	int input = s->eof ? 0 : !s->paused ? UV_READABLE : !s->hung_up && !s->in.is_file ? UV_DISCONNECT : 0;
	bool want_write = s->queue.len > s->queue_at && !s->write_failed;
	if (s->in.fd == s->out.fd) {
		arm(&s->in, input | (want_write ? UV_WRITABLE : 0));
		return;
	}
	arm(&s->in, input);
	arm(&s->out, want_write ? UV_WRITABLE : 0);
}

struct stream *stream_new(struct loop *loop, int in_fd, int out_fd, const struct stream_ops *ops, void *ctx)
{
	struct stream *s = new0(struct stream);
	s->loop = loop;
	s->ops = *ops;
	s->ctx = ctx;
	s->queue_max = QUEUE_MAX_DEFAULT;
	list_init(&s->outgoing);
	s->in.fd = s->out.fd = s->in.saved_flags = s->out.saved_flags = -1;
	int r = side_open(s, &s->in, in_fd);
	if (r == 0 && out_fd != in_fd)
		r = side_open(s, &s->out, out_fd);
	else if (r == 0)
		s->out.fd = out_fd;
	if (in_fd < 0)
		s->eof = true;
	if (r < 0) {
		s->in.fd = in_fd;
		s->out.fd = out_fd;
		stream_free(s);
		errno = -r;
		return NULL;
	}
	rearm(s);
	return s;
}

static void restore_and_close(struct side *side)
{
	if (side->fd < 0)
		return;
	if (side->saved_flags >= 0 && !(side->saved_flags & O_NONBLOCK))
		fcntl(side->fd, F_SETFL, side->saved_flags);
	close(side->fd);
}

struct stream *stream_free(struct stream *s)
{
	if (!s || s->freed)
		return NULL;
	s->freed = true;
	side_close(&s->in);
	side_close(&s->out);
	if (s->in.fd == s->out.fd)
		s->out.fd = -1;
	restore_and_close(&s->in);
	restore_and_close(&s->out);
	s->in.fd = s->out.fd = -1;
	release_if_closed(s);
	return NULL;
}

static void finish_reading(struct stream *s, int error)
{
	s->eof = true;
	if (s->ops.on_eof)
		s->ops.on_eof(s->ctx, error);
}

static void hand_over(struct stream *s, struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			/* The callback may have freed the stream. */
			if (s->freed)
				close(fd);
			else
				s->ops.on_descriptor(s->ctx, fd);
		}
	}
}

static ssize_t read_chunk(struct stream *s, void *chunk, size_t size)
{
	if (!s->ops.on_descriptor)
		return read(s->in.fd, chunk, size);
	union control control;
	struct iovec room = { chunk, size };
	struct msghdr message = {
		.msg_iov = &room, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(s->in.fd, &message, MSG_CMSG_CLOEXEC);
	if (n >= 0)
		hand_over(s, &message);
	return n;
}

static void read_some(struct stream *s)
{
	static uint8_t chunk[READ_CHUNK]; /* safe: one loop, one thread */
	for (int i = 0; i < READS_PER_TURN && !s->freed && !s->paused && !s->eof; i++) {
		ssize_t n = read_chunk(s, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (s->freed)
			return;
		if (n <= 0) {
			finish_reading(s, n < 0 ? -errno : 0);
			return;
		}
		if (s->ops.on_data)
			s->ops.on_data(s->ctx, chunk, (size_t)n);
		if ((size_t)n < sizeof(chunk))
			return;
	}
}

static void fail_writing(struct stream *s, int error)
{
	s->write_failed = true;
	buf_release(&s->queue);
	drop_outgoing(s);
	s->queue_at = 0;
	if (s->ops.on_write_error)
		s->ops.on_write_error(s->ctx, error);
}

static ssize_t send_with(int to, const void *data, size_t n, const struct outgoing *o)
{
	union control control = { 0 };
	size_t bytes = o->n * sizeof(int);
	control.header =
		(struct cmsghdr){ .cmsg_len = CMSG_LEN(bytes), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), o->fds, bytes);
	struct iovec piece = { (void *)data, n };
	struct msghdr message = {
		.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(bytes)
	};
	return sendmsg(to, &message, 0);
}

/* Writes the part of the queue that fits into one call. A write ends where descriptors accompany the next byte. */
static ssize_t write_piece(struct stream *s)
{
	struct outgoing *o = list_first(&s->outgoing, struct outgoing, node);
	const uint8_t *at = s->queue.data + s->queue_at;
	size_t n = stream_queued(s);
	ssize_t done;
	if (!o) {
		done = write(s->out.fd, at, n);
	} else if (s->written < o->at) {
		done = write(s->out.fd, at, MIN(n, (size_t)(o->at - s->written)));
	} else {
		done = send_with(s->out.fd, at, n, o);
		if (done > 0)
			outgoing_free(o);
	}
	if (done > 0) {
		s->queue_at += (size_t)done;
		s->written += (uint64_t)done;
	}
	return done;
}

/* Returns false once the descriptor accepts no more for now. */
static bool write_once(struct stream *s)
{
	ssize_t n = write_piece(s);
	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (n < 0) {
		fail_writing(s, -errno);
		return false;
	}
	return s->queue_at < s->queue.len;
}

static void write_some(struct stream *s)
{
	if (s->write_failed || s->queue_at == s->queue.len)
		return;
	while (write_once(s))
		continue;
	if (s->freed || s->write_failed || s->queue_at < s->queue.len)
		return;
	s->queue_at = 0;
	if (s->queue.cap > 4 * READ_CHUNK)
		buf_release(&s->queue);
	else
		buf_reset(&s->queue);
	if (s->ops.on_drained)
		s->ops.on_drained(s->ctx);
}

/* Writes as much as the descriptor accepts now. */
static size_t write_now(struct stream *s, const uint8_t *data, size_t n)
{
	size_t at = 0;
	while (at < n) {
		ssize_t done = write(s->out.fd, data + at, n - at);
		if (done < 0)
			break;
		at += (size_t)done;
	}
	s->written += at;
	return at;
}

static int check_room(const struct stream *s, size_t n)
{
	if (s->write_failed || s->out.fd < 0)
		return -EPIPE;
	return stream_queued(s) + n > s->queue_max ? -ENOBUFS : 0;
}

int stream_write(struct stream *s, const void *data, size_t n)
{
	int r = check_room(s, n);
	if (r < 0)
		return r;
	if (s->queue_at > READ_CHUNK) {
		buf_consume(&s->queue, s->queue_at);
		s->queue_at = 0;
	}
	/* Most writes fit into the pipe at once: one system call and no turn of the loop. Failures are reported from
	 * the loop, since callbacks never run inside the call that caused them. Short writes made by callbacks are
	 * queued and sent together. Long ones are not, because queueing costs a copy. */
	bool waits = stream_queued(s) || (s->dispatching && n < READ_CHUNK);
	size_t done = waits ? 0 : write_now(s, data, n);
	if (!stream_queued(s)) {
		s->queue_at = 0;
		buf_reset(&s->queue);
	}
	buf_add(&s->queue, (const uint8_t *)data + done, n - done);
	if (!s->dispatching)
		rearm(s);
	return 0;
}

int stream_write_with(struct stream *s, const void *data, size_t n, const int *fds, size_t n_fds)
{
	int r = check_room(s, n);
	if (r < 0)
		return r;
	struct outgoing *o = new0(struct outgoing);
	list_append(&s->outgoing, &o->node);
	o->at = s->written + stream_queued(s);
	while (r == 0 && o->n < MIN(n_fds, (size_t)STREAM_DESCRIPTORS_MAX)) {
		o->fds[o->n] = fcntl(fds[o->n], F_DUPFD_CLOEXEC, 3);
		r = o->fds[o->n] < 0 ? -errno : 0;
		o->n += r == 0;
	}
	if (r < 0) {
		outgoing_free(o);
		return r;
	}
	buf_add(&s->queue, data, n);
	if (!s->dispatching)
		rearm(s);
	return 0;
}

void stream_set_queue_max(struct stream *s, size_t max)
{
	s->queue_max = max;
}

size_t stream_queued(const struct stream *s)
{
	return s->queue.len - s->queue_at;
}

void stream_pause(struct stream *s, bool paused)
{
	s->paused = paused;
	if (!s->dispatching)
		rearm(s);
}

void stream_flush_now(struct stream *s)
{
	while (!s->write_failed && s->queue_at < s->queue.len) {
		ssize_t n = write_piece(s);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
	}
}
