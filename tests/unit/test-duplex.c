/* base/duplex: bytes in both directions, each of which ends by itself, and errors. */
#include "base/duplex.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "tests/unit/unit.h"

#define MANY (1u << 20)

static struct bench {
	struct loop *loop;
	struct duplex *duplex;
	int far; /* the other end */
	struct buf got;
	size_t sent;
	bool finished, connected;
	int error;
} b;

static void on_connected(void *ctx UNUSED, int error)
{
	b.connected = true;
	b.error = error;
}

static void on_data(void *ctx UNUSED, const void *data, size_t n)
{
	buf_add(&b.got, data, n);
}

static void on_sent(void *ctx UNUSED, size_t n)
{
	b.sent += n;
}

static void on_finish(void *ctx UNUSED)
{
	b.finished = true;
}

static void on_error(void *ctx UNUSED, int error)
{
	b.error = error;
}

static const struct duplex_ops ops = { on_connected, on_data, on_sent, on_finish, on_error };

static int setup(void **state UNUSED)
{
	int pair[2];
	b = (struct bench){ .loop = loop_new() };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	b.far = pair[1];
	b.duplex = duplex_new(b.loop, pair[0], /* connecting= */ false, /* paused= */ false, &ops, NULL);
	return b.duplex ? 0 : -1;
}

static int teardown(void **state UNUSED)
{
	duplex_free(b.duplex);
	closep(&b.far);
	buf_release(&b.got);
	loop_free(b.loop);
	return 0;
}

static void test_each_direction_ends_by_itself(void **state UNUSED)
{
	char data[8];
	duplex_write(b.duplex, "hello", 5);
	duplex_end(b.duplex);
	assert_int_equal(b.sent, 0);
	while (b.sent < 5)
		loop_turn(b.loop);
	assert_int_equal(read(b.far, data, sizeof(data)), 5);
	assert_int_equal(read(b.far, data, sizeof(data)), 0);
	assert_int_equal(write(b.far, "answer", 6), 6);
	closep(&b.far);
	while (!b.finished)
		loop_turn(b.loop);
	assert_string_equal(buf_str(&b.got), "answer");
	assert_int_equal(b.error, 0);
}

/* A process that has the same open file can clear O_NONBLOCK, which must not block the loop. The socket here is a
 * blocking one from the start. */
static void test_it_never_blocks_and_reports_what_was_sent(void **state UNUSED)
{
	static uint8_t data[MANY];
	size_t read_bytes = 0;
	duplex_write(b.duplex, data, sizeof(data));
	loop_skip(b.loop, 1);
	assert_true(b.sent > 0 && b.sent < sizeof(data));
	while (b.sent < sizeof(data) || read_bytes < sizeof(data)) {
		ssize_t n = recv(b.far, data, sizeof(data), MSG_DONTWAIT);
		read_bytes += n > 0 ? (size_t)n : 0;
		loop_skip(b.loop, 1);
	}
	assert_int_equal(read_bytes, sizeof(data));
}

static void test_a_pause_stops_reading(void **state UNUSED)
{
	duplex_pause(b.duplex, true);
	assert_int_equal(write(b.far, "x", 1), 1);
	loop_skip(b.loop, 10);
	assert_int_equal(b.got.len, 0);
	duplex_pause(b.duplex, false);
	while (!b.got.len)
		loop_turn(b.loop);
}

static void test_an_error_is_reported_once_and_last(void **state UNUSED)
{
	closep(&b.far);
	while (!b.finished)
		loop_turn(b.loop);
	duplex_write(b.duplex, "x", 1);
	assert_int_equal(b.error, 0);
	while (!b.error)
		loop_turn(b.loop);
	assert_int_equal(b.error, -EPIPE);
	b.error = 0;
	duplex_write(b.duplex, "x", 1);
	loop_skip(b.loop, 10);
	assert_int_equal(b.error, 0);
}

static void test_a_connection_attempt_is_reported(void **state UNUSED)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(sa);
	AUTO(closep) int listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&sa, n), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&sa, &n), 0);
	for (int listens = 0; listens < 2; listens++) {
		if (listens)
			assert_int_equal(listen(listener, 1), 0);
		duplex_free(b.duplex);
		b.connected = false;
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(fd, (struct sockaddr *)&sa, n);
		b.duplex = duplex_new(b.loop, fd, /* connecting= */ true, /* paused= */ false, &ops, NULL);
		duplex_write(b.duplex, "early", 5);
		while (!b.connected)
			loop_turn(b.loop);
		assert_int_equal(b.error, listens ? 0 : -ECONNREFUSED);
	}
	while (b.sent < 5)
		loop_turn(b.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_direction_ends_by_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(test_it_never_blocks_and_reports_what_was_sent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_pause_stops_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_error_is_reported_once_and_last, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_connection_attempt_is_reported, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
