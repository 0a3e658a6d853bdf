/* http/server: requests and answers on a connection, its limits, and clients that leave or stall. */
#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "tests/unit/http-rig.h"
#include "tests/unit/unit.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static int setup(void **state)
{
	struct http_rig *rig = new0(struct http_rig);
	http_rig_init(rig, NULL);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	http_rig_release(*state);
	free(*state);
	return 0;
}

/* Sends one text on a new connection and returns what arrived, up to `want`. */
static void exchange(struct http_rig *rig, const char *text, struct buf *got, const char *want)
{
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, text);
	http_rig_read(rig, fd, got, want);
}

static void expect(struct http_rig *rig, const char *text, const char *status, const char *in_body)
{
	AUTO(buf_release) struct buf got = { 0 };
	exchange(rig, text, &got, in_body);
	assert_memory_equal(buf_str(&got), status, strlen(status));
	assert_non_null(strstr(buf_str(&got), in_body));
}

static void a_request_is_answered(void **state)
{
	AUTO(buf_release) struct buf got = { 0 };
	exchange(*state, GET("/text"), &got, "hello");
	assert_memory_equal(buf_str(&got), "HTTP/1.1 200 OK\r\nDate: ", 23);
	assert_non_null(strstr(buf_str(&got), " GMT\r\nContent-Length: 5\r\n\r\nhello"));
}

static void pipelined_requests_are_answered_in_order(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd,
		      GET("/hold") GET("/text") "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nlast");
	http_rig_turn(rig);
	assert_int_equal(rig->requests, 1);
	http_reply(rig->held, 200, NULL, "first", 5);
	assert_int_equal(rig->requests, 1); /* the next request is never handled inside a reply */
	const char *text = http_rig_read(rig, fd, &got, "last");
	assert_true(strstr(text, "first") && strstr(text, "first") < strstr(text, "hello"));
	assert_true(strstr(text, "hello") < strstr(text, "last"));
	assert_int_equal(http_server_connections(rig->server), 1);
}

static void bodies_are_read(void **state)
{
	expect(*state, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200", "\r\n\r\nabc");
	expect(*state, "POST /echo HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200", "Content-Length: 0\r\n\r\n");
	expect(*state,
	       "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n0\r\n\r\n",
	       "HTTP/1.1 200", "\r\n\r\nabc");
}

static void large_bodies_are_refused(void **state)
{
	struct http_rig *rig = *state;
	expect(rig, "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n", "HTTP/1.1 413",
	       "longer than 100 bytes, the limit of this resource");
	AUTO(buf_release) struct buf text = { 0 };
	buf_add_str(&text, "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n");
	for (int i = 0; i < 101; i++)
		buf_add_str(&text, "x");
	expect(rig, buf_str(&text), "HTTP/1.1 413", "Connection: close");
	assert_int_equal(rig->closed, 2);
	assert_int_equal(rig->bodies, 0);
}

static void a_client_that_waits_for_continue_gets_it(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	assert_string_equal(http_rig_read(rig, fd, &got, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
	http_rig_send(rig, fd, "ok");
	assert_non_null(strstr(http_rig_read(rig, fd, &got, "\r\n\r\nok"), "HTTP/1.1 200 OK"));
}

static void a_refused_body_is_not_asked_for(void **state)
{
	/* The answer comes without 100, and the connection ends, because it is unknown whether the body will follow. */
	expect(*state, "POST /drop HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
	       "HTTP/1.1 200 OK", "Connection: close");
	expect(*state, "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: wonders\r\nContent-Length: 1\r\n\r\nx",
	       "HTTP/1.1 417", "100-continue");
}

static void a_small_unread_body_keeps_the_connection(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, "POST /drop HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc");
	http_rig_read(rig, fd, &got, "hello");
	http_rig_send(rig, fd, "def" GET("/stream"));
	assert_non_null(strstr(http_rig_read(rig, fd, &got, "three"), "5\r\nthree\r\n"));
	/* A large unread body ends the connection. */
	expect(rig, "POST /drop HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nabc", "HTTP/1.1 200",
	       "Connection: close");
}

static void streams_have_chunks_or_end_with_the_connection(void **state)
{
	struct http_rig *rig = *state;
	expect(rig, GET("/stream"), "HTTP/1.1 200",
	       "Transfer-Encoding: chunked\r\n\r\n4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\n\r\n");
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	assert_non_null(strstr(http_rig_read(rig, fd, &got, "three"), "Connection: close\r\n\r\none two three"));
	assert_true(http_rig_ended(rig, fd));
}

static void http_1_0_is_answered(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, "GET /text HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	assert_non_null(strstr(http_rig_read(rig, fd, &got, "hello"), "Connection: keep-alive"));
	http_rig_send(rig, fd, "GET /text HTTP/1.0\r\n\r\n");
	assert_true(http_rig_ended(rig, fd));
}

static void answers_to_head_have_no_body(void **state)
{
	AUTO(buf_release) struct buf got = { 0 };
	exchange(*state, "HEAD /text HTTP/1.1\r\nHost: h\r\n\r\n" GET("/nothing"), &got, "There is nothing");
	const char *second = strstr(buf_str(&got) + 1, "HTTP/1.1");
	assert_non_null(second);
	assert_memory_equal(second - 21, "Content-Length: 5\r\n\r\n", 21);
	assert_memory_equal(second, "HTTP/1.1 404 Not Found", 22);
}

static void malformed_requests_get_a_problem(void **state)
{
	AUTO(buf_release) struct buf got = { 0 };
	exchange(*state, "GET / HTTP/1.1\r\nA: b\r\n\r\n", &got, "}");
	assert_memory_equal(buf_str(&got), "HTTP/1.1 400 Bad Request", 24);
	assert_non_null(strstr(buf_str(&got), "content-type: application/problem+json"));
	assert_non_null(strstr(
		buf_str(&got),
		"{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,\"detail\":\"The request was "
		"not understood: the Host field is missing.\",\"cause\":\"bad_request\",\"hint\":"));
}

static void a_malformed_body_ends_its_request(void **state)
{
	struct http_rig *rig = *state;
	expect(rig, "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 400",
	       "the chunks of the body are malformed");
	assert_int_equal(rig->closed, 1);
}

static void an_answer_survives_a_client_that_still_sends(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, "POST /drop HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
	char piece[4096] = { 0 };
	for (int i = 0; i < 20; i++)
		if (write(fd, piece, sizeof(piece)) < 0)
			assert_int_equal(errno, EAGAIN);
	assert_non_null(strstr(http_rig_read(rig, fd, &got, "hello"), "hello"));
}

static void a_client_that_leaves_closes_its_request(void **state)
{
	struct http_rig *rig = *state;
	int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, GET("/hold"));
	http_rig_turn(rig);
	assert_non_null(rig->held);
	close(fd);
	http_rig_turn(rig);
	assert_int_equal(rig->closed, 1);
	assert_int_equal(http_server_connections(rig->server), 0);
}

static void a_client_that_only_stops_sending_gets_its_answer(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	assert_int_equal(write(fd, GET("/text"), sizeof(GET("/text")) - 1), sizeof(GET("/text")) - 1);
	shutdown(fd, SHUT_WR);
	assert_non_null(strstr(http_rig_read(rig, fd, &got, "hello"), "hello"));
	assert_true(http_rig_ended(rig, fd));
}

/* --- deadlines: the loop's clock is moved */

static void a_slow_head_times_out(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, "GET /text HT");
	http_rig_turn(rig);
	loop_skip(rig->loop, 9000);
	http_rig_send(rig, fd, "TP/1.1\r\nA: b\r\n");
	loop_skip(rig->loop, 500);
	assert_int_equal(http_server_connections(rig->server), 1);
	loop_skip(rig->loop, 600);
	assert_memory_equal(http_rig_read(rig, fd, &got, "in time"), "HTTP/1.1 408", 12);
}

static void a_silent_connection_is_closed_without_an_answer(void **state)
{
	struct http_rig *rig = *state;
	AUTO(closep) int fd = http_rig_connect(rig);
	ssize_t n;
	char byte;
	loop_skip(rig->loop, 10100);
	while ((n = recv(fd, &byte, 1, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
		http_rig_turn(rig);
	assert_int_equal(n, 0);
}

static void an_idle_connection_is_closed_later(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, GET("/text"));
	http_rig_read(rig, fd, &got, "hello");
	loop_skip(rig->loop, 59000);
	assert_int_equal(http_server_connections(rig->server), 1);
	loop_skip(rig->loop, 1500);
	assert_int_equal(http_server_connections(rig->server), 0);
}

static void a_body_that_stops_times_out(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc");
	http_rig_turn(rig);
	loop_skip(rig->loop, 59000);
	http_rig_send(rig, fd, "more");
	loop_skip(rig->loop, 59000);
	assert_int_equal(rig->closed, 0);
	loop_skip(rig->loop, 1500);
	assert_int_equal(rig->closed, 1);
	assert_memory_equal(http_rig_read(rig, fd, &got, "in time"), "HTTP/1.1 408", 12);
}

static void a_reader_that_stops_is_disconnected(void **state)
{
	struct http_rig *rig = *state;
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, GET("/big"));
	http_rig_turn(rig);
	loop_skip(rig->loop, 59000);
	/* Reading a part is progress. */
	char some[65536];
	for (int i = 0; i < 3; i++)
		assert_true(read(fd, some, sizeof(some)) > 0);
	http_rig_turn(rig);
	loop_skip(rig->loop, 59000);
	assert_int_equal(http_server_connections(rig->server), 1);
	loop_skip(rig->loop, 62000);
	assert_int_equal(http_server_connections(rig->server), 0);
}

static void a_held_request_has_no_deadline(void **state)
{
	struct http_rig *rig = *state;
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, GET("/hold"));
	http_rig_turn(rig);
	loop_skip(rig->loop, 600000);
	assert_int_equal(rig->closed, 0);
	assert_non_null(rig->held);
}

static void one_connection_too_many_is_refused(void **state)
{
	struct http_rig rig;
	struct http_limits limits = http_limits_default;
	limits.connections = 2;
	http_rig_init(&rig, &limits);
	AUTO(closep) int a = http_rig_connect(&rig);
	AUTO(closep) int b = http_rig_connect(&rig);
	http_rig_send(&rig, a, GET("/hold"));
	http_rig_turn(&rig);
	struct http_request *first = rig.held;
	http_rig_send(&rig, b, GET("/hold"));
	http_rig_turn(&rig);
	AUTO(closep) int c = http_rig_connect(&rig);
	AUTO(buf_release) struct buf got = { 0 };
	const char *text = http_rig_read(&rig, c, &got, "}");
	assert_memory_equal(text, "HTTP/1.1 503", 12);
	assert_non_null(strstr(text, "retry-after: 1"));
	assert_non_null(strstr(text, "All 2 connections are in use."));
	http_reply(first, 200, NULL, "done", 4);
	buf_reset(&got);
	assert_non_null(strstr(http_rig_read(&rig, a, &got, "done"), "done"));
	http_rig_release(&rig);
}

/* Clients that send nothing, or only a part of a request, cannot lock others out. */
static void a_further_connection_takes_the_place_of_the_one_that_waited_longest(void **state)
{
	struct http_rig rig;
	struct http_limits limits = http_limits_default;
	limits.connections = 3;
	http_rig_init(&rig, &limits);
	AUTO(closep) int used = http_rig_connect(&rig);
	AUTO(closep) int partial = http_rig_connect(&rig);
	AUTO(closep) int busy = http_rig_connect(&rig);
	AUTO(buf_release) struct buf got = { 0 };
	http_rig_send(&rig, busy, GET("/hold"));
	http_rig_send(&rig, partial, "GET / HTTP/1.1\r\n");
	http_rig_send(&rig, used, GET("/text"));
	assert_non_null(strstr(http_rig_read(&rig, used, &got, "hello"), "hello"));
	AUTO(closep) int first = http_rig_connect(&rig);
	assert_true(http_rig_ended(&rig, partial));
	AUTO(closep) int second = http_rig_connect(&rig);
	assert_true(http_rig_ended(&rig, used));
	http_rig_send(&rig, second, GET("/text"));
	buf_reset(&got);
	assert_non_null(strstr(http_rig_read(&rig, second, &got, "hello"), "hello"));
	http_reply(rig.held, 200, NULL, "done", 4);
	buf_reset(&got);
	assert_non_null(strstr(http_rig_read(&rig, busy, &got, "done"), "done"));
	http_rig_release(&rig);
}

static void an_owner_has_a_share_of_the_connections(void **state)
{
	struct http_rig *rig = *state;
	AUTO(closep) int idle = http_rig_connect(rig);
	AUTO(closep) int one = http_rig_connect(rig);
	AUTO(closep) int two = http_rig_connect(rig);
	AUTO(closep) int three = http_rig_connect(rig);
	http_rig_send(rig, one, GET("/hold"));
	http_rig_turn(rig);
	assert_true(http_request_claim(rig->held, "a", 2));
	http_rig_send(rig, idle, GET("/hold"));
	http_rig_turn(rig);
	assert_true(http_request_claim(rig->held, "a", 2));
	assert_true(http_request_claim(rig->held, "a", 2));
	http_reply(rig->held, 200, NULL, "done", 4);
	/* The idle connection makes room for the next one. */
	http_rig_send(rig, two, GET("/hold"));
	http_rig_turn(rig);
	assert_true(http_request_claim(rig->held, "a", 2));
	assert_true(http_rig_ended(rig, idle));
	http_rig_send(rig, three, GET("/hold"));
	http_rig_turn(rig);
	assert_false(http_request_claim(rig->held, "a", 2));
	assert_true(http_request_claim(rig->held, "b", 1));
}

static void draining_lets_requests_finish(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int idle = http_rig_connect(rig);
	AUTO(closep) int busy = http_rig_connect(rig);
	http_rig_send(rig, busy, GET("/hold"));
	http_rig_turn(rig);
	http_server_drain(rig->server);
	assert_true(http_rig_ended(rig, idle));
	http_reply(rig->held, 200, NULL, "done", 4);
	assert_non_null(strstr(http_rig_read(rig, busy, &got, "done"), "Connection: close"));
	assert_true(http_rig_ended(rig, busy));
}

static void freeing_the_server_closes_its_requests(void **state)
{
	struct http_rig *rig = *state;
	AUTO(closep) int fd = http_rig_connect(rig);
	http_rig_send(rig, fd, GET("/hold"));
	http_rig_turn(rig);
	rig->server = http_server_free(rig->server);
	assert_int_equal(rig->closed, 1);
}

static void a_large_body_arrives_whole(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	AUTO(freep) char *body = xcalloc(1, 3000001);
	memset(body, 'x', 3000000);
	http_rig_send(rig, fd, "POST /count HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n");
	http_rig_send(rig, fd, body);
	assert_non_null(strstr(http_rig_read(rig, fd, &got, "3000000"), "\r\n\r\n3000000"));
}

/* Pauses the body after its first piece. */
static void take_and_pause(void *ctx, const void *data, size_t n)
{
	struct http_rig *rig = ctx;
	rig->body_bytes += n;
	http_request_pause(rig->held, true);
}

static void answer_held(void *ctx)
{
	struct http_rig *rig = ctx;
	http_reply(rig->held, 200, NULL, "all", 3);
}

static void read_with_pauses(struct http_rig *rig, struct http_request *r)
{
	static const struct http_body_ops ops = { take_and_pause, answer_held };
	rig->held = r;
	http_request_read(r, &ops, rig);
}

static void a_body_can_be_paused(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	AUTO(freep) char *body = xcalloc(1, 1 << 20);
	rig->on_other = read_with_pauses;
	http_rig_send(rig, fd, "POST /other HTTP/1.1\r\nHost: h\r\nContent-Length: 150000\r\n\r\n");
	assert_true(write(fd, body, 150000) > 70000);
	for (int i = 0; i < 10; i++)
		http_rig_turn(rig);
	size_t first = rig->body_bytes;
	assert_true(first > 0 && first <= 65536);
	size_t sent = 150000;
	while (rig->body_bytes < sent) {
		size_t before = rig->body_bytes;
		http_request_pause(rig->held, false);
		http_rig_turn(rig);
		assert_true(rig->body_bytes > before);
	}
	http_request_pause(rig->held, false);
	assert_non_null(strstr(http_rig_read(rig, fd, &got, "all"), "all"));
}

static void write_next(void *ctx)
{
	struct http_rig *rig = ctx;
	if (++rig->drained < 4)
		http_reply_write(rig->held, "piece ", 6);
	else
		http_reply_end(rig->held);
}

static void stream_when_drained(struct http_rig *rig, struct http_request *r)
{
	rig->held = r;
	http_reply_begin(r, 200, NULL, 18);
	http_reply_on_drained(r, write_next, rig);
}

static void an_answer_can_follow_its_reader(void **state)
{
	struct http_rig *rig = *state;
	AUTO(buf_release) struct buf got = { 0 };
	AUTO(closep) int fd = http_rig_connect(rig);
	rig->on_other = stream_when_drained;
	http_rig_send(rig, fd, GET("/other"));
	assert_non_null(strstr(http_rig_read(rig, fd, &got, "piece piece piece "), "\r\n\r\npiece piece piece "));
	assert_int_equal(rig->drained, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_answered),
		TEST(pipelined_requests_are_answered_in_order),
		TEST(bodies_are_read),
		TEST(large_bodies_are_refused),
		TEST(a_client_that_waits_for_continue_gets_it),
		TEST(a_refused_body_is_not_asked_for),
		TEST(a_small_unread_body_keeps_the_connection),
		TEST(streams_have_chunks_or_end_with_the_connection),
		TEST(http_1_0_is_answered),
		TEST(answers_to_head_have_no_body),
		TEST(malformed_requests_get_a_problem),
		TEST(a_malformed_body_ends_its_request),
		TEST(an_answer_survives_a_client_that_still_sends),
		TEST(a_client_that_leaves_closes_its_request),
		TEST(a_client_that_only_stops_sending_gets_its_answer),
		TEST(a_slow_head_times_out),
		TEST(a_silent_connection_is_closed_without_an_answer),
		TEST(an_idle_connection_is_closed_later),
		TEST(a_body_that_stops_times_out),
		TEST(a_reader_that_stops_is_disconnected),
		TEST(a_held_request_has_no_deadline),
		TEST(one_connection_too_many_is_refused),
		cmocka_unit_test(a_further_connection_takes_the_place_of_the_one_that_waited_longest),
		TEST(an_owner_has_a_share_of_the_connections),
		TEST(draining_lets_requests_finish),
		TEST(freeing_the_server_closes_its_requests),
		TEST(a_large_body_arrives_whole),
		TEST(a_body_can_be_paused),
		TEST(an_answer_can_follow_its_reader),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
