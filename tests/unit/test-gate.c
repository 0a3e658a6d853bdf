/* manager/gate: connections of a session to servers of the test, with a PID 1 whose frames the test writes. */
#include "manager/gate/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "manager/line/line-gate.h"
#include "tests/unit/unit.h"

#define NUMBER STREAM_NUMBER_FIRST

static struct config config;
static struct strv no_networks;

static struct bench {
	struct loop *loop;
	struct dispatch dispatch;
	struct buf sent;       /* frames for PID 1 */
	struct buf to_program; /* data of streams */
	uint64_t program_bytes;
	uint8_t last; /* type of the last frame of a stream */
	char refusal[64];
	uint64_t credit;
	unsigned accepts, refusals, ends;
	struct gate *gate;
	struct rules rules;
	int listener, host; /* the test's server, and its end of the connection */
	uint16_t port;
	struct gate_event event; /* the last one; only plain members */
	unsigned events;
} b;

/* --- PID 1 ------------------------------------------------------------------------------------------------------- */

static void take_frame(const uint8_t *frame)
{
	struct frame_header h = frame_header_read(frame);
	const uint8_t *payload = frame + FRAME_HEADER_SIZE;
	b.last = h.type;
	if (h.type == FRAME_STREAM_ACCEPT)
		b.accepts++;
	else if (h.type == FRAME_STREAM_END)
		b.ends++;
	else if (h.type == FRAME_STREAM_REFUSE) {
		b.refusals++;
		snprintf(b.refusal, sizeof(b.refusal), "%.*s", (int)h.length, (const char *)payload);
	} else if (h.type == FRAME_STREAM_CREDIT)
		b.credit += (uint64_t)payload[0] << 24 | (uint64_t)payload[1] << 16 | (uint64_t)payload[2] << 8 |
			    payload[3];
	else if (h.type == FRAME_STREAM_DATA) {
		b.program_bytes += h.length;
		if (b.to_program.len < 4096)
			buf_add(&b.to_program, payload, MIN(h.length, 4096u));
	}
}

static void keep_frames(struct dispatch *d UNUSED, const struct buf *frames)
{
	for (size_t at = 0; at < frames->len; at += frame_size(frames->data + at))
		take_frame(frames->data + at);
}

static int give(uint8_t type, uint32_t number, const void *payload, size_t n)
{
	struct wire_frame frame = { .type = type, .call = number, .payload = payload, .n = n };
	return type == FRAME_STREAM_OPEN || type == FRAME_GATE_DENIED ? line_gate_frame(&b.dispatch, &frame) :
									line_streams_frame(&b.dispatch, &frame);
}

static void open_stream(uint32_t number, const char *name, uint16_t port)
{
	AUTO(freep) char *payload = xasprintf("{\"name\":\"%s\",\"port\":%u}", name, port);
	assert_int_equal(give(FRAME_STREAM_OPEN, number, payload, strlen(payload)), 0);
}

/* --- the test's server ------------------------------------------------------------------------------------------- */

static void listen_here(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	b.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(b.listener, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(b.listener, 200), 0);
	assert_int_equal(getsockname(b.listener, (struct sockaddr *)&at, &n), 0);
	b.port = ntohs(at.sin_port);
}

static void allow(const char *fmt, ...) PRINTF_LIKE(1, 2);

static void allow(const char *fmt, ...)
{
	AUTO(fail_release) struct fail f = { 0 };
	va_list ap;
	va_start(ap, fmt);
	AUTO(freep) char *entry = xvasprintf(fmt, ap);
	va_end(ap);
	assert_int_equal(rules_add(&b.rules, entry, &f), 0);
	assert_int_equal(gate_set_rules(b.gate, &b.rules, &f), 0);
}

static void accept_one(void)
{
	while (!b.accepts)
		loop_turn(b.loop);
	b.host = accept4(b.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(b.host >= 0);
}

static void read_host(void *data, size_t n)
{
	for (size_t got = 0; got < n;) {
		ssize_t r = recv(b.host, (char *)data + got, n - got, 0);
		if (r > 0)
			got += (size_t)r;
		else
			loop_turn(b.loop);
	}
}

static void on_event(void *ctx UNUSED, const struct gate_event *event)
{
	b.event = *event;
	b.event.name = b.event.sentence = b.event.secret = NULL;
	b.events++;
}

static int setup(void **state UNUSED)
{
	b = (struct bench){ .loop = loop_new(), .listener = -1, .host = -1 };
	dispatch_init(&b.dispatch, b.loop, &config, keep_frames);
	b.dispatch.open = b.dispatch.has_streams = b.dispatch.has_gate = true;
	b.gate = gate_new(&(struct gate_spec){
		.loop = b.loop, .session = "s", .private_networks = &no_networks, .on_event = on_event });
	gate_attach(b.gate, &b.dispatch);
	listen_here();
	return 0;
}

static int teardown(void **state UNUSED)
{
	gate_free(b.gate);
	assert_true(list_empty(&b.dispatch.streams));
	dispatch_release(&b.dispatch);
	rules_release(&b.rules);
	buf_release(&b.sent);
	buf_release(&b.to_program);
	closep(&b.listener);
	closep(&b.host);
	loop_free(b.loop);
	return 0;
}

/* --- bytes ------------------------------------------------------------------------------------------------------- */

static void test_bytes_pass_both_ways_and_are_counted(void **state UNUSED)
{
	char data[16];
	allow("db.internal=127.0.0.1:%u", b.port);
	open_stream(NUMBER, "db.internal", b.port);
	accept_one();
	assert_int_equal(give(FRAME_STREAM_DATA, NUMBER, "question", 8), 0);
	read_host(data, 8);
	assert_memory_equal(data, "question", 8);
	assert_int_equal(give(FRAME_STREAM_END, NUMBER, NULL, 0), 0);
	while (recv(b.host, data, 1, 0) != 0)
		loop_turn(b.loop);
	/* The host may answer after the session has ended its direction. */
	assert_int_equal(send(b.host, "answer", 6, 0), 6);
	closep(&b.host);
	while (!b.events)
		loop_turn(b.loop);
	assert_string_equal(buf_str(&b.to_program), "answer");
	assert_int_equal(b.ends, 1);
	assert_int_equal(b.refusals, 0);
	assert_int_equal(b.event.cause, CAUSE_NONE);
	assert_int_equal(b.event.up, 8);
	assert_int_equal(b.event.down, 6);
	assert_null(gate_take_note(b.gate));
}

/* evidence: gate-limits */
static void test_a_host_that_does_not_read_stops_the_session(void **state UNUSED)
{
	static const uint8_t data[STREAM_DATA_MAX];
	uint64_t given = 0;
	allow("db=127.0.0.1:%u", b.port);
	open_stream(NUMBER, "db", b.port);
	accept_one();
	/* As much as there is credit for; the sockets of the system take some megabytes. */
	while (given + sizeof(data) <= STREAM_WINDOW + b.credit) {
		assert_int_equal(give(FRAME_STREAM_DATA, NUMBER, data, sizeof(data)), 0);
		given += sizeof(data);
		loop_skip(b.loop, 1);
		assert_true(given < 64u << 20);
	}
	/* More is a violation. */
	assert_int_equal(give(FRAME_STREAM_DATA, NUMBER, data, sizeof(data)), -EPROTO);
	uint64_t before = b.credit;
	static uint8_t sink[1 << 20];
	while (b.credit == before) {
		(void)poll(&(struct pollfd){ .fd = b.host, .events = POLLIN }, 1, 10);
		(void)recv(b.host, sink, sizeof(sink), 0);
		loop_skip(b.loop, 1);
	}
}

static void test_a_session_that_does_not_read_stops_the_host(void **state UNUSED)
{
	static const uint8_t data[1 << 20];
	uint64_t given = 0;
	allow("db=127.0.0.1:%u", b.port);
	open_stream(NUMBER, "db", b.port);
	accept_one();
	for (int full = 0; full < 20;) {
		ssize_t n = send(b.host, data, sizeof(data), MSG_DONTWAIT);
		given += n > 0 ? (uint64_t)n : 0;
		full = n > 0 ? 0 : full + 1;
		loop_skip(b.loop, 1);
		assert_true(given < 64u << 20);
	}
	assert_int_equal(b.program_bytes, STREAM_WINDOW);
	assert_int_equal(give(FRAME_STREAM_CREDIT, NUMBER, "\x00\x00\x80\x00", 4), 0);
	assert_int_equal(b.program_bytes, STREAM_WINDOW + 0x8000);
}

static void test_a_host_that_breaks_off_resets_the_stream(void **state UNUSED)
{
	allow("db=127.0.0.1:%u", b.port);
	open_stream(NUMBER, "db", b.port);
	accept_one();
	setsockopt(b.host, SOL_SOCKET, SO_LINGER, &(struct linger){ .l_onoff = 1 }, sizeof(struct linger));
	closep(&b.host);
	while (!b.events)
		loop_turn(b.loop);
	assert_string_equal(b.refusal, "{\"cause\":\"reset\"}");
	assert_int_equal(b.event.cause, CAUSE_STREAM_BROKE);
}

static void test_a_program_that_leaves_closes_the_connection(void **state UNUSED)
{
	char data;
	allow("db=127.0.0.1:%u", b.port);
	open_stream(NUMBER, "db", b.port);
	accept_one();
	assert_int_equal(give(FRAME_STREAM_REFUSE, NUMBER, "{\"cause\":\"reset\"}", 17), 0);
	while (!b.events)
		loop_turn(b.loop);
	assert_int_equal(poll(&(struct pollfd){ .fd = b.host, .events = POLLIN }, 1, 5000), 1);
	assert_int_equal(recv(b.host, &data, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

static void test_an_idle_connection_ends(void **state UNUSED)
{
	allow("db=127.0.0.1:%u", b.port);
	open_stream(NUMBER, "db", b.port);
	accept_one();
	loop_skip(b.loop, CONNECTION_IDLE_MS - 5000);
	assert_int_equal(b.events, 0);
	loop_skip(b.loop, 10000);
	assert_int_equal(b.event.cause, CAUSE_HOST_TIMEOUT);
}

/* --- decisions --------------------------------------------------------------------------------------------------- */

static void expect_refused(const char *name, uint16_t port, const char *refusal, enum cause cause)
{
	unsigned events = b.events;
	open_stream(NUMBER + 100 + events, name, port);
	while (b.events == events)
		loop_turn(b.loop);
	assert_int_equal(b.accepts, 0);
	if (!strstr(b.refusal, refusal))
		fail_msg("%s: %s", name, b.refusal);
	assert_int_equal(b.event.cause, cause);
}

/* evidence: gate-list */
static void test_only_names_and_ports_of_the_rules_are_connected(void **state UNUSED)
{
	expect_refused("db", b.port, "denied", CAUSE_GATE_DENIED);
	allow("db=127.0.0.1:%u", b.port);
	allow("api.example.com");
	expect_refused("db", (uint16_t)(b.port + 1), "denied", CAUSE_GATE_DENIED);
	expect_refused("localhost", b.port, "denied", CAUSE_GATE_DENIED);
	expect_refused("www.example.com", 443, "denied", CAUSE_GATE_DENIED);
	expect_refused("www.example.com", 443, "denied", CAUSE_GATE_DENIED);
	assert_int_equal(poll(&(struct pollfd){ .fd = b.listener, .events = POLLIN }, 1, 0), 0);
	AUTO(freep) char *note = gate_take_note(b.gate);
	AUTO(freep) char *expected =
		xasprintf("The network of this session reaches db and api.example.com; 5 connections to db:%u, db:%u, "
			  "localhost:%u and others were refused. The operator can allow more: CONTAINER_NETWORK_ALLOW.",
			  b.port, b.port + 1, b.port);
	assert_string_equal(note, expected);
	assert_null(gate_take_note(b.gate));
}

static void test_causes_are_told_apart(void **state UNUSED)
{
	uint16_t port = b.port;
	allow("gone=127.0.0.1:%u", port);
	allow("nothing.invalid:%u", port);
	closep(&b.listener);
	expect_refused("gone", port, "refused", CAUSE_HOST_REFUSED);
	unsigned events = b.events;
	open_stream(NUMBER, "nothing.invalid", port);
	while (b.events == events)
		loop_turn(b.loop);
	/* Some resolvers do not answer for such names. */
	assert_true(b.event.cause == CAUSE_HOST_NOT_FOUND || b.event.cause == CAUSE_HOST_TIMEOUT);
	AUTO(freep) char *note = gate_take_note(b.gate);
	assert_non_null(strstr(note, "failed: the host refused them or cannot be reached."));
}

static void on_over(void *ctx, struct connection *c, const struct connection_outcome *outcome)
{
	*(enum cause *)ctx = outcome->cause;
	connection_free(c);
}

/* A name that leads to this machine, as after a change of its address. */
/* evidence: gate-addresses */
static void test_a_name_of_a_private_address_is_refused(void **state UNUSED)
{
	enum cause cause = CAUSE_NONE;
	struct line_stream *s = new0(struct line_stream);
	struct strv all = { 0 };
	strv_add(&all, "0.0.0.0/0");
	strv_add(&all, "::/0");
	line_stream_begin(s, &b.dispatch, NUMBER, b.port);
	(void)connection_new(&(struct connection_spec){ .loop = b.loop,
							.session = "s",
							.name = "localhost",
							.port = b.port,
							.private_networks = &all,
							.stream = s,
							.on_over = on_over,
							.ctx = &cause });
	while (!cause)
		loop_turn(b.loop);
	assert_int_equal(cause, CAUSE_HOST_PRIVATE);
	assert_string_equal(b.refusal, "{\"cause\":\"denied\"}");
	strv_release(&all);
}

static void test_rules_that_change_end_connections(void **state UNUSED)
{
	AUTO(fail_release) struct fail f = { 0 };
	allow("db=127.0.0.1:%u", b.port);
	open_stream(NUMBER, "db", b.port);
	accept_one();
	assert_int_equal(rules_deny(&b.rules, "db", &f), 0);
	assert_int_equal(gate_set_rules(b.gate, &b.rules, &f), 0);
	assert_string_equal(b.refusal, "{\"cause\":\"denied\"}");
	loop_skip(b.loop, 1);
	assert_int_equal(b.event.cause, CAUSE_GATE_DENIED);
}

/* evidence: gate-limits */
static void test_connections_count_until_they_are_over(void **state UNUSED)
{
	allow("db=127.0.0.1:%u", b.port);
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX; i++) {
		b.dispatch.gate_tokens = 1;
		open_stream(NUMBER + i, "db", b.port);
		assert_int_equal(give(FRAME_STREAM_REFUSE, NUMBER + i, "{\"cause\":\"reset\"}", 17), 0);
	}
	assert_int_equal(b.refusals, 0);
	b.dispatch.gate_tokens = 1;
	open_stream(NUMBER + GATE_CONNECTIONS_MAX, "db", b.port);
	assert_string_equal(b.refusal, "{\"cause\":\"limit\"}");
	assert_int_equal(b.event.cause, CAUSE_GATE_LIMIT);
	while (b.events < GATE_CONNECTIONS_MAX + 1)
		loop_turn(b.loop);
	b.dispatch.gate_tokens = 1;
	open_stream(NUMBER, "db", b.port);
	accept_one();
}

/* --- filters ----------------------------------------------------------------------------------------------------- */

struct upper {
	struct gate_filter base;
};

static int shout(struct gate_filter *f UNUSED, const void *data, size_t n, struct buf *up, struct buf *down,
		 struct fail *fail)
{
	buf_printf(up, "<%.*s>", (int)n, (const char *)data);
	if (n != 4)
		return 0;
	buf_add_str(down, "refused\n");
	cause_set(fail, FAIL_INVALID, CAUSE_GATE_HTTP, "not allowed");
	return -EPROTO;
}

static int pass(struct gate_filter *f UNUSED, const void *data, size_t n, struct buf *up UNUSED, struct buf *down,
		struct fail *fail UNUSED)
{
	buf_add(down, data, n);
	return 0;
}

static int ended(struct gate_filter *f UNUSED, struct buf *up UNUSED, struct buf *down UNUSED, struct fail *fail UNUSED)
{
	return 0;
}

static void upper_free(struct gate_filter *f)
{
	free(container_of(f, struct upper, base));
}

static const char *upper_secret(const struct gate_filter *f UNUSED)
{
	return "KEY";
}

static bool always(const struct gate_filter *f UNUSED)
{
	return true;
}

static struct gate_filter *make_filter(void *ctx UNUSED, const char *name, uint16_t port UNUSED, struct fail *f)
{
	static const struct gate_filter_type type = { shout, pass, ended, ended, upper_secret, upper_free };
	static const struct gate_filter_type alone = { shout, pass, ended, ended, upper_secret, upper_free, always };
	if (streq(name, "locked")) {
		cause_set(f, FAIL_BUSY, CAUSE_GATE_TLS, "not loaded");
		return NULL;
	}
	struct upper *u = new0(struct upper);
	u->base.type = streq(name, "alone") ? &alone : &type;
	return &u->base;
}

/* The reason of a refusal reaches the session although the host is gone. */
static void test_a_filter_can_answer_without_its_host(void **state UNUSED)
{
	gate_set_filters(b.gate, make_filter, NULL);
	allow("alone=127.0.0.1:%u", b.port);
	for (uint32_t i = 0; i < 2; i++) {
		buf_reset(&b.to_program);
		b.accepts = b.ends = b.events = 0;
		open_stream(NUMBER + i, "alone", b.port);
		accept_one();
		/* The first host closes its connection, and the second breaks it off. */
		struct linger linger = { .l_onoff = i };
		assert_int_equal(setsockopt(b.host, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
		closep(&b.host);
		loop_skip(b.loop, 10);
		assert_int_equal(b.ends, 0);
		assert_int_equal(give(FRAME_STREAM_DATA, NUMBER + i, "evil", 4), 0);
		while (!b.ends)
			loop_turn(b.loop);
		assert_string_equal(buf_str(&b.to_program), "refused\n");
		assert_int_equal(give(FRAME_STREAM_END, NUMBER + i, NULL, 0), 0);
		while (!b.events)
			loop_turn(b.loop);
	}
}

static void test_a_filter_changes_and_refuses(void **state UNUSED)
{
	char data[16];
	gate_set_filters(b.gate, make_filter, NULL);
	allow("db=127.0.0.1:%u", b.port);
	allow("locked:%u", b.port);
	expect_refused("locked", b.port, "mismatch", CAUSE_GATE_TLS);
	open_stream(NUMBER, "db", b.port);
	accept_one();
	assert_int_equal(give(FRAME_STREAM_DATA, NUMBER, "abc", 3), 0);
	read_host(data, 5);
	assert_memory_equal(data, "<abc>", 5);
	assert_int_equal(give(FRAME_STREAM_DATA, NUMBER, "evil", 4), 0);
	read_host(data, 6);
	/* Both sides get what the filter says, and then their end. */
	while (recv(b.host, data, 1, 0) != 0)
		loop_turn(b.loop);
	assert_string_equal(buf_str(&b.to_program), "refused\n");
	assert_int_equal(b.ends, 1);
	assert_int_equal(give(FRAME_STREAM_DATA, NUMBER, "more", 4), 0);
	assert_int_equal(give(FRAME_STREAM_END, NUMBER, NULL, 0), 0);
	while (b.events < 2)
		loop_turn(b.loop);
	assert_int_equal(b.event.cause, CAUSE_GATE_HTTP);
	assert_int_equal(send(b.host, "late", 4, MSG_NOSIGNAL) >= 0 || errno == EPIPE || errno == ECONNRESET, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bytes_pass_both_ways_and_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_host_that_does_not_read_stops_the_session, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_session_that_does_not_read_stops_the_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_host_that_breaks_off_resets_the_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_program_that_leaves_closes_the_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(test_an_idle_connection_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_only_names_and_ports_of_the_rules_are_connected, setup, teardown),
		cmocka_unit_test_setup_teardown(test_causes_are_told_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_name_of_a_private_address_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rules_that_change_end_connections, setup, teardown),
		cmocka_unit_test_setup_teardown(test_connections_count_until_they_are_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_filter_can_answer_without_its_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_filter_changes_and_refuses, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
