/* base/stream: data, EOF and errors by callback; bounded writes; back pressure; freeing from inside callbacks. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/stream.h"
#include "tests/unit/unit.h"

struct peer {
	struct loop *loop;
	struct stream *stream;
	struct timer *timer;
	struct buf got;
	int eofs, eof_error, write_errors, write_error, drained;
	size_t stop_at;
	int fd, descriptors[8], n_descriptors;
	size_t came_at[8]; /* after how many bytes */
	bool free_on_descriptor, free_on_data, free_on_eof;
};

static void got_data(void *ctx, const void *data, size_t n)
{
	struct peer *p = ctx;
	buf_add(&p->got, data, n);
	if (p->free_on_data)
		p->stream = stream_free(p->stream);
	if (p->stop_at && p->got.len >= p->stop_at)
		loop_stop(p->loop, 1);
}

static void got_descriptor(void *ctx, int fd)
{
	struct peer *p = ctx;
	p->came_at[p->n_descriptors] = p->got.len;
	p->descriptors[p->n_descriptors++] = fd;
	if (p->free_on_descriptor)
		p->stream = stream_free(p->stream);
}

static void got_eof(void *ctx, int error)
{
	struct peer *p = ctx;
	p->eofs++;
	p->eof_error = error;
	if (p->free_on_eof)
		p->stream = stream_free(p->stream);
	else
		loop_stop(p->loop, 0);
}

static void got_write_error(void *ctx, int error)
{
	struct peer *p = ctx;
	p->write_errors++;
	p->write_error = error;
	loop_stop(p->loop, 2);
}

static void got_drained(void *ctx)
{
	struct peer *p = ctx;
	p->drained++;
}

static const struct stream_ops ops = {
	.on_data = got_data,
	.on_eof = got_eof,
	.on_write_error = got_write_error,
	.on_drained = got_drained,
};

static void peer_init(struct peer *p, int in, int out)
{
	*p = (struct peer){ .loop = loop_new(), .fd = -1 };
	p->stream = stream_new(p->loop, in, out, &ops, p);
	assert_non_null(p->stream);
}

static void peer_release(struct peer *p)
{
	for (int i = 0; i < p->n_descriptors; i++)
		close(p->descriptors[i]);
	stream_free(p->stream);
	timer_free(p->timer);
	loop_free(p->loop);
	buf_release(&p->got);
	closep(&p->fd);
}

static void make_pipe(int fds[2])
{
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
}

static void put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void reads_a_pipe_to_its_end(void **state)
{
	int fds[2];
	make_pipe(fds);
	struct peer p;
	peer_init(&p, fds[0], -1);
	put(fds[1], "hello");
	close(fds[1]);
	assert_int_equal(loop_run(p.loop), 0);
	assert_string_equal(buf_str(&p.got), "hello");
	assert_int_equal(p.eofs, 1);
	assert_int_equal(p.eof_error, 0);
	assert_int_equal(stream_write(p.stream, "x", 1), -EPIPE); /* there is no output */
	peer_release(&p);
}

static void reads_a_regular_file(void **state)
{
	char path[] = "/tmp/husk-test-stream-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	unlink(path);
	AUTO(freep) char *big = xmalloc(300000);
	memset(big, 'q', 300000);
	assert_int_equal(write(fd, big, 300000), 300000);
	lseek(fd, 0, SEEK_SET);
	struct peer p;
	peer_init(&p, fd, -1);
	assert_int_equal(loop_run(p.loop), 0);
	assert_int_equal(p.got.len, 300000);
	assert_int_equal(p.eofs, 1);
	peer_release(&p);
}

static void closed_descriptors_are_an_error(void **state)
{
	struct loop *loop = loop_new();
	errno = 0;
	assert_null(stream_new(loop, 9999, -1, &ops, NULL));
	assert_int_equal(errno, EBADF);
	loop_free(loop);
}

static void a_socket_reads_and_writes(void **state)
{
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	struct peer p;
	peer_init(&p, fds[0], fds[0]);
	assert_int_equal(stream_write(p.stream, "ping", 4), 0);
	assert_int_equal(stream_queued(p.stream), 0); /* all of it fit into the pipe */
	char answer[8] = "";
	assert_int_equal(read(fds[1], answer, sizeof(answer)), 4);
	assert_string_equal(answer, "ping");
	put(fds[1], "pong");
	p.stop_at = 4;
	assert_int_equal(loop_run(p.loop), 1);
	assert_string_equal(buf_str(&p.got), "pong");
	close(fds[1]);
	peer_release(&p);
}

static void drain_other_end(void *ctx)
{
	struct peer *p = ctx;
	char chunk[65536];
	ssize_t n = read(p->fd, chunk, sizeof(chunk));
	if (n > 0)
		buf_add(&p->got, chunk, (size_t)n);
	if (p->got.len == 1000000)
		loop_stop(p->loop, 3);
}

static void queues_what_does_not_fit(void **state)
{
	int fds[2];
	make_pipe(fds);
	struct peer p;
	peer_init(&p, -1, fds[1]);
	p.fd = fds[0];
	AUTO(freep) char *big = xmalloc(1000000);
	for (size_t i = 0; i < 1000000; i++)
		big[i] = (char)('a' + i % 26);
	assert_int_equal(stream_write(p.stream, big, 1000000), 0);
	assert_true(stream_queued(p.stream) > 0);
	p.timer = timer_new(p.loop, drain_other_end, &p);
	timer_start(p.timer, 0, 1);
	assert_int_equal(loop_run(p.loop), 3);
	assert_memory_equal(p.got.data, big, 1000000);
	assert_int_equal(stream_queued(p.stream), 0);
	assert_int_equal(p.drained, 1);
	peer_release(&p);
}

static void the_queue_is_bounded(void **state)
{
	int fds[2];
	make_pipe(fds);
	struct peer p;
	peer_init(&p, -1, fds[1]);
	p.fd = fds[0];
	stream_set_queue_max(p.stream, 300000);
	AUTO(freep) char *big = xcalloc(1, 300000);
	assert_int_equal(stream_write(p.stream, big, 300000), 0); /* 64 KiB of it are in the pipe */
	size_t queued = stream_queued(p.stream);
	assert_true(queued > 0 && queued < 300000);
	assert_int_equal(stream_write(p.stream, big, 300000), -ENOBUFS);
	assert_int_equal(stream_queued(p.stream), queued); /* none of it was queued */
	peer_release(&p);
}

static void reports_that_the_reader_is_gone(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	int fds[2];
	make_pipe(fds);
	struct peer p;
	peer_init(&p, -1, fds[1]);
	close(fds[0]);
	stream_write(p.stream, "x", 1);
	assert_int_equal(p.write_errors, 0); /* errors are reported from the loop, never inside the call */
	assert_int_equal(loop_run(p.loop), 2);
	assert_int_equal(p.write_errors, 1);
	assert_int_equal(p.write_error, -EPIPE);
	assert_int_equal(stream_write(p.stream, "y", 1), -EPIPE);
	peer_release(&p);
}

static void resume(void *ctx)
{
	struct peer *p = ctx;
	assert_int_equal(p->got.len, 0);
	stream_pause(p->stream, false);
}

static void can_be_paused(void **state)
{
	int fds[2];
	make_pipe(fds);
	struct peer p;
	peer_init(&p, fds[0], -1);
	stream_pause(p.stream, true);
	put(fds[1], "later");
	close(fds[1]);
	p.timer = timer_new(p.loop, resume, &p);
	timer_start(p.timer, 30, 0);
	assert_int_equal(loop_run(p.loop), 0);
	assert_string_equal(buf_str(&p.got), "later");
	peer_release(&p);
}

static void may_be_freed_from_inside(void **state)
{
	int fds[2];
	make_pipe(fds);
	struct peer p;
	peer_init(&p, fds[0], -1);
	p.free_on_data = true;
	put(fds[1], "x");
	assert_int_equal(loop_run(p.loop), 0);
	assert_null(p.stream);
	assert_int_equal(p.eofs, 0);
	close(fds[1]);
	peer_release(&p);

	make_pipe(fds);
	peer_init(&p, fds[0], -1);
	p.free_on_eof = true;
	close(fds[1]);
	loop_run(p.loop);
	assert_int_equal(p.eofs, 1);
	assert_null(p.stream);
	peer_release(&p);
}

static void puts_the_descriptor_flags_back(void **state)
{
	int fds[2];
	make_pipe(fds);
	int other = dup(fds[0]); /* the same open file description, as a shell's terminal would be */
	struct peer p;
	peer_init(&p, fds[0], -1);
	assert_true(fcntl(other, F_GETFL) & O_NONBLOCK);
	p.stream = stream_free(p.stream);
	assert_false(fcntl(other, F_GETFL) & O_NONBLOCK);
	close(other);
	close(fds[1]);
	peer_release(&p);
}

static void flushes_on_the_way_out(void **state)
{
	int fds[2];
	make_pipe(fds);
	struct peer p;
	peer_init(&p, -1, fds[1]);
	p.fd = fds[0];
	AUTO(freep) char *big = xcalloc(1, 100000);
	stream_write(p.stream, big, 100000);
	size_t before = stream_queued(p.stream);
	char chunk[65536];
	assert_int_equal(read(p.fd, chunk, sizeof(chunk)), 65536);
	stream_flush_now(p.stream);
	assert_true(stream_queued(p.stream) < before);
	peer_release(&p);
}

/* One byte with n descriptors, all of the same file. */
static void send_descriptors(int to, char byte, int fd, size_t n)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(8 * sizeof(int))];
	} control = { 0 };
	struct iovec bytes = { &byte, 1 };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = CMSG_SPACE(n * sizeof(int)) };
	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(n * sizeof(int)),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS };
	for (size_t i = 0; i < n; i++)
		memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &fd, sizeof(int));
	assert_int_equal(sendmsg(to, &message, 0), 1);
}

static const struct stream_ops ops_with_descriptors = {
	.on_data = got_data,
	.on_descriptor = got_descriptor,
	.on_eof = got_eof,
};

/* A socket whose other end has written, and a pipe whose writing end was sent and closed here. */
static void make_sender(struct peer *p, const struct stream_ops *with, size_t first, size_t second, int *ret_socket,
			int *ret_pipe)
{
	int fds[2], ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	make_pipe(ends);
	*p = (struct peer){ .loop = loop_new(), .fd = -1 };
	p->stream = stream_new(p->loop, fds[0], fds[0], with, p);
	send_descriptors(fds[1], 'a', ends[1], first);
	send_descriptors(fds[1], 'b', ends[1], second);
	close(ends[1]);
	*ret_socket = fds[1];
	*ret_pipe = ends[0];
}

static void descriptors_come_before_their_bytes(void **state)
{
	struct peer p;
	int socket, pipe;
	make_sender(&p, &ops_with_descriptors, 1, 6, &socket, &pipe);
	p.stop_at = 2;
	assert_int_equal(loop_run(p.loop), 1);
	/* More than four at a time are rejected. */
	assert_int_equal(p.n_descriptors, 5);
	for (int i = 0; i < p.n_descriptors; i++) {
		assert_true(fcntl(p.descriptors[i], F_GETFD) & FD_CLOEXEC);
		assert_int_equal(p.came_at[i], i > 0);
	}
	close(socket);
	peer_release(&p);
	char byte;
	assert_int_equal(read(pipe, &byte, 1), 0); /* no other process holds its other end */
	close(pipe);
}

static void unclaimed_descriptors_are_closed(void **state)
{
	struct peer p;
	int socket, pipe;
	char byte;
	make_sender(&p, &ops, 1, 6, &socket, &pipe);
	p.stop_at = 2;
	assert_int_equal(loop_run(p.loop), 1);
	assert_int_equal(read(pipe, &byte, 1), 0);
	close(socket);
	close(pipe);
	peer_release(&p);
}

static void a_descriptor_may_end_the_stream(void **state)
{
	struct peer p;
	int socket, pipe;
	make_sender(&p, &ops_with_descriptors, 6, 1, &socket, &pipe);
	p.free_on_descriptor = true;
	loop_run(p.loop);
	assert_null(p.stream);
	assert_int_equal(p.n_descriptors, 1);
	assert_int_equal(p.got.len, 0);
	close(socket);
	peer_release(&p);
	char byte;
	assert_int_equal(read(pipe, &byte, 1), 0); /* the three that came with it were closed */
	close(pipe);
}

/* Descriptors are sent twice, behind more data than the socket takes at once. None arrives after its byte, and all
 * arrive in order. */
static void sends_descriptors_with_their_bytes(void **state)
{
	enum { BEFORE = 1000000, AFTER = 300000 };
	int fds[2], first[2], second[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	make_pipe(first);
	make_pipe(second);
	struct peer p = { .loop = loop_new(), .fd = -1, .stop_at = BEFORE + 1 + AFTER + 1 };
	p.stream = stream_new(p.loop, fds[0], fds[0], &ops_with_descriptors, &p);
	struct stream *sender = stream_new(p.loop, fds[1], fds[1], &(struct stream_ops){ 0 }, NULL);
	AUTO(freep) char *big = xcalloc(1, BEFORE);
	const int two[] = { second[1], second[1] };
	assert_int_equal(stream_write(sender, big, BEFORE), 0);
	assert_int_equal(stream_write_with(sender, "a", 1, &first[1], 1), 0);
	assert_int_equal(stream_write(sender, big, AFTER), 0);
	assert_int_equal(stream_write_with(sender, "b", 1, two, 2), 0);
	close(first[1]);
	close(second[1]);
	assert_int_equal(loop_run(p.loop), 1);
	assert_int_equal(p.got.data[BEFORE], 'a');
	assert_int_equal(p.n_descriptors, 3);
	assert_true(p.came_at[0] <= BEFORE && p.came_at[1] > BEFORE && p.came_at[1] <= BEFORE + 1 + AFTER);
	put(p.descriptors[0], "1");
	put(p.descriptors[2], "2");
	char byte;
	assert_int_equal(read(first[0], &byte, 1), 1);
	assert_int_equal(byte, '1');
	assert_int_equal(read(second[0], &byte, 1), 1);
	assert_int_equal(byte, '2');
	/* Descriptors that wait when the stream is freed are closed. */
	stream_pause(p.stream, true);
	const int bad[] = { first[0], -1 };
	assert_int_equal(stream_write_with(sender, "c", 1, bad, 2), -EBADF);
	assert_int_equal(stream_write(sender, big, BEFORE), 0);
	assert_int_equal(stream_write_with(sender, "c", 1, &p.descriptors[0], 1), 0);
	stream_free(sender);
	peer_release(&p);
	assert_int_equal(read(first[0], &byte, 1), 0);
	assert_int_equal(read(second[0], &byte, 1), 0);
	close(first[0]);
	close(second[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_pipe_to_its_end),
		cmocka_unit_test(reads_a_regular_file),
		cmocka_unit_test(closed_descriptors_are_an_error),
		cmocka_unit_test(a_socket_reads_and_writes),
		cmocka_unit_test(queues_what_does_not_fit),
		cmocka_unit_test(the_queue_is_bounded),
		cmocka_unit_test(reports_that_the_reader_is_gone),
		cmocka_unit_test(can_be_paused),
		cmocka_unit_test(may_be_freed_from_inside),
		cmocka_unit_test(puts_the_descriptor_flags_back),
		cmocka_unit_test(flushes_on_the_way_out),
		cmocka_unit_test(descriptors_come_before_their_bytes),
		cmocka_unit_test(unclaimed_descriptors_are_closed),
		cmocka_unit_test(a_descriptor_may_end_the_stream),
		cmocka_unit_test(sends_descriptors_with_their_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
