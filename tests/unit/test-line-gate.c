/* line/line-gate: connections that programs of a session make to hosts, with a PID 1 whose frames the test writes. */
#include <errno.h>
#include <jansson.h>

#include "base/alloc.h"
#include "manager/line/line-gate.h"
#include "manager/model/cause.h"
#include "tests/unit/unit.h"

#define NUMBER STREAM_NUMBER_FIRST

static struct config config;

static struct bench {
	struct loop *loop;
	struct dispatch dispatch;
	struct buf sent; /* frames for PID 1 */
	struct line_gate gate;
	struct line_stream *streams[GATE_CONNECTIONS_MAX];
	size_t n;
	char name[HOST_NAME_SIZE];
	uint16_t port;
	char denied[HOST_NAME_SIZE];
	enum wire_refusal why;
	uint64_t denials;
	struct buf received;
	unsigned rooms, finishes, ends;
	enum cause cause;
} b;

static void keep_frames(struct dispatch *d UNUSED, const struct buf *frames)
{
	buf_add(&b.sent, frames->data, frames->len);
}

static void on_bytes(struct line_stream *s UNUSED, const void *data, size_t n)
{
	buf_add(&b.received, data, n);
}

static void on_room(struct line_stream *s UNUSED)
{
	b.rooms++;
}

static void on_finish(struct line_stream *s UNUSED)
{
	b.finishes++;
}

static void on_end(struct line_stream *s UNUSED, const struct fail *f)
{
	b.ends++;
	b.cause = f ? cause_of(f) : CAUSE_NONE;
}

static void on_open(struct line_gate *g, struct line_stream *s, const char *name, uint16_t port)
{
	assert_ptr_equal(g, &b.gate);
	assert_true(b.n < ARRAY_LEN(b.streams));
	s->on_bytes = on_bytes;
	s->on_room = on_room;
	s->on_finish = on_finish;
	s->on_end = on_end;
	b.streams[b.n++] = s;
	snprintf(b.name, sizeof(b.name), "%s", name);
	b.port = port;
}

static void on_denied(struct line_gate *g UNUSED, const char *name, uint16_t port UNUSED, enum wire_refusal why,
		      uint64_t count)
{
	snprintf(b.denied, sizeof(b.denied), "%s", name);
	b.why = why;
	b.denials += count;
}

static int setup(void **state UNUSED)
{
	b = (struct bench){ .loop = loop_new(), .gate = { .on_open = on_open, .on_denied = on_denied } };
	dispatch_init(&b.dispatch, b.loop, &config, keep_frames);
	b.dispatch.open = b.dispatch.has_streams = b.dispatch.has_gate = true;
	line_gate_set(&b.dispatch, &b.gate);
	return 0;
}

static int teardown(void **state UNUSED)
{
	for (size_t i = 0; i < b.n; i++)
		line_gate_free(b.streams[i]);
	assert_true(list_empty(&b.dispatch.streams));
	dispatch_release(&b.dispatch);
	buf_release(&b.sent);
	buf_release(&b.received);
	loop_free(b.loop);
	return 0;
}

static struct wire_frame frame_of(uint8_t type, uint32_t number, const char *payload)
{
	return (struct wire_frame){
		.type = type, .call = number, .payload = (const uint8_t *)payload, .n = strlen(payload)
	};
}

static int open_one(uint32_t number, const char *payload)
{
	struct wire_frame frame = frame_of(FRAME_STREAM_OPEN, number, payload);
	return line_gate_frame(&b.dispatch, &frame);
}

static int give(uint8_t type, uint32_t number, const char *payload)
{
	struct wire_frame frame = frame_of(type, number, payload);
	return line_streams_frame(&b.dispatch, &frame);
}

/* The type of the last frame for PID 1, and its payload as text. Drops all frames. */
static uint8_t last_sent(char (*ret)[4096])
{
	struct frame_header h = { 0 };
	(*ret)[0] = '\0';
	for (size_t at = 0; at < b.sent.len; at += frame_size(b.sent.data + at)) {
		h = frame_header_read(b.sent.data + at);
		assert_true(h.length < sizeof(*ret));
		memcpy(*ret, b.sent.data + at + FRAME_HEADER_SIZE, h.length);
		(*ret)[h.length] = '\0';
	}
	buf_reset(&b.sent);
	return h.type;
}

static void test_an_accepted_stream_carries_bytes_both_ways(void **state UNUSED)
{
	char payload[4096];
	assert_int_equal(open_one(NUMBER, "{\"name\":\"api.example.org\",\"port\":443}"), 0);
	assert_string_equal(b.name, "api.example.org");
	assert_int_equal(b.port, 443);
	/* Until the handler has an answer, nothing may pass. */
	assert_int_equal(line_stream_room(b.streams[0]), 0);
	assert_int_equal(give(FRAME_STREAM_DATA, NUMBER, "early"), -EPROTO);
	assert_int_equal(give(FRAME_STREAM_ACCEPT, NUMBER, ""), -EPROTO);
	line_stream_accept(b.streams[0]);
	assert_int_equal(last_sent(&payload), FRAME_STREAM_ACCEPT);
	assert_int_equal(line_stream_room(b.streams[0]), STREAM_WINDOW);
	assert_int_equal(give(FRAME_STREAM_DATA, NUMBER, "question"), 0);
	assert_int_equal(b.received.len, 8);
	line_stream_write(b.streams[0], "answer", 6);
	assert_int_equal(last_sent(&payload), FRAME_STREAM_DATA);
	assert_string_equal(payload, "answer");
	assert_int_equal(give(FRAME_STREAM_END, NUMBER, ""), 0);
	assert_int_equal(b.finishes, 1);
	line_stream_finish(b.streams[0]);
	assert_int_equal(b.ends, 1);
	assert_int_equal(b.cause, CAUSE_NONE);
}

static void test_refusals_name_their_cause(void **state UNUSED)
{
	static const struct {
		enum wire_refusal why;
		const char *payload;
	} cases[] = { { WIRE_REFUSAL_DENIED, "{\"cause\":\"denied\"}" },
		      { WIRE_REFUSAL_NOT_FOUND, "{\"cause\":\"not_found\"}" },
		      { WIRE_REFUSAL_REFUSED, "{\"cause\":\"refused\"}" },
		      { WIRE_REFUSAL_TIMEOUT, "{\"cause\":\"timeout\"}" },
		      { WIRE_REFUSAL_LIMIT, "{\"cause\":\"limit\"}" },
		      { WIRE_REFUSAL_MISMATCH, "{\"cause\":\"mismatch\"}" } };
	char payload[4096];
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint32_t number = NUMBER + (uint32_t)i;
		assert_int_equal(open_one(number, "{\"name\":\"a.b\",\"port\":80}"), 0);
		line_stream_refuse(b.streams[i], cases[i].why);
		assert_int_equal(last_sent(&payload), FRAME_STREAM_REFUSE);
		assert_string_equal(payload, cases[i].payload);
		/* Frames that were in transit. */
		assert_int_equal(give(FRAME_STREAM_END, number, ""), 0);
	}
	assert_int_equal(b.ends, 0);
}

static void test_a_program_that_leaves_ends_its_stream(void **state UNUSED)
{
	AUTO(fail_release) struct fail f = { 0 };
	assert_int_equal(open_one(NUMBER, "{\"name\":\"a.b\",\"port\":80}"), 0);
	assert_int_equal(give(FRAME_STREAM_REFUSE, NUMBER, "{\"cause\":\"reset\"}"), 0);
	assert_int_equal(b.ends, 1);
	assert_int_equal(b.cause, CAUSE_STREAM_BROKE);
	assert_int_equal(open_one(NUMBER + 1, "{\"name\":\"a.b\",\"port\":80}"), 0);
	cause_set(&f, FAIL_ENGINE, CAUSE_STREAM_BROKE, "gone");
	line_streams_lost(&b.dispatch, &f);
	assert_int_equal(b.ends, 2);
}

static void test_hostile_opens_end_the_connection(void **state UNUSED)
{
	static const char *const payloads[] = {
		"",
		"[]",
		"{\"name\":\"a.b\"}",
		"{\"port\":80}",
		"{\"name\":\"a.b\",\"port\":0}",
		"{\"name\":\"a.b\",\"port\":65536}",
		"{\"name\":\"\",\"port\":80}",
		"{\"name\":\"A.b\",\"port\":80}",
		"{\"name\":\"a..b\",\"port\":80}",
		"{\"name\":\"a.b.\",\"port\":80}",
		"{\"name\":\"10.1.2.3\",\"port\":80}",
		"{\"name\":\"a/b\",\"port\":80}",
		"{\"name\":\"a\\u0000b\",\"port\":80}",
		"{\"name\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b\",\"port\":80}",
	};
	for (size_t i = 0; i < ARRAY_LEN(payloads); i++)
		assert_int_equal(open_one(NUMBER, payloads[i]), -EPROTO);
	/* A number of the manager's, one that is in use, and any number without a gate. */
	assert_int_equal(open_one(1, "{\"name\":\"a.b\",\"port\":80}"), -EPROTO);
	assert_int_equal(open_one(NUMBER, "{\"name\":\"a.b\",\"port\":80}"), 0);
	assert_int_equal(open_one(NUMBER, "{\"name\":\"a.b\",\"port\":80}"), -EPROTO);
	assert_int_equal(b.n, 1);
	line_gate_set(&b.dispatch, NULL);
	assert_int_equal(open_one(NUMBER + 1, "{\"name\":\"a.b\",\"port\":80}"), -EPROTO);
}

static void test_a_flood_of_opens_is_refused_by_the_line(void **state UNUSED)
{
	char payload[4096];
	for (uint32_t i = 0; i < 10 * GATE_NEW_A_SECOND; i++) {
		/* A minute without connections does not make more of them possible. */
		b.dispatch.gate_tokens_ms = loop_now_ms() - (i ? 0 : 60000);
		assert_int_equal(open_one(NUMBER + i, "{\"name\":\"flood.example\",\"port\":80}"), 0);
	}
	assert_int_equal(b.n, GATE_NEW_A_SECOND);
	assert_int_equal(b.denials, 9 * GATE_NEW_A_SECOND);
	assert_int_equal(b.why, WIRE_REFUSAL_LIMIT);
	assert_int_equal(last_sent(&payload), FRAME_STREAM_REFUSE);
	assert_string_equal(payload, "{\"cause\":\"limit\"}");
}

static void test_the_number_of_connections_is_limited(void **state UNUSED)
{
	for (uint32_t i = 0; i < GATE_CONNECTIONS_MAX + 10; i++) {
		b.dispatch.gate_tokens = 1;
		assert_int_equal(open_one(NUMBER + i, "{\"name\":\"a.b\",\"port\":80}"), 0);
	}
	assert_int_equal(b.n, GATE_CONNECTIONS_MAX);
	assert_int_equal(b.denials, 10);
	b.streams[0] = line_gate_free(b.streams[0]);
	b.n--;
	b.streams[0] = b.streams[b.n];
	b.dispatch.gate_tokens = 1;
	assert_int_equal(open_one(NUMBER + 1000, "{\"name\":\"a.b\",\"port\":80}"), 0);
	assert_int_equal(b.n, GATE_CONNECTIONS_MAX);
}

static void test_denials_of_pid_1_are_counted(void **state UNUSED)
{
	struct wire_frame frame = frame_of(FRAME_GATE_DENIED, 0,
					   "{\"denied\":[{\"name\":\"files.example.net\",\"port\":443,\"count\":13},"
					   "{\"name\":\"\",\"port\":80,\"count\":1}]}");
	assert_int_equal(line_gate_frame(&b.dispatch, &frame), 0);
	assert_int_equal(b.denials, 14);
	assert_int_equal(b.why, WIRE_REFUSAL_DENIED);
	static const char *const bad[] = { "{}", "{\"denied\":[{}]}",
					   "{\"denied\":[{\"name\":\"a b\",\"port\":1,\"count\":1}]}",
					   "{\"denied\":[{\"name\":\"a.b\",\"port\":-1,\"count\":1}]}",
					   "{\"denied\":[{\"name\":\"a.b\",\"port\":1,\"count\":0}]}" };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		frame = frame_of(FRAME_GATE_DENIED, 0, bad[i]);
		assert_int_equal(line_gate_frame(&b.dispatch, &frame), -EPROTO);
	}
	assert_int_equal(b.denials, 14);
}

static void test_rules_are_sent_and_sent_again(void **state UNUSED)
{
	static const struct wire_gate_rule rules[] = {
		{ .name = "*.example.org", .ports = { { 80, 80 }, { 443, 443 } }, .n_ports = 2 },
		{ .name = "db.internal", .ports = { { 5432, 5433 } }, .n_ports = 1, .tcp = true },
	};
	static const struct wire_gate gate = { .rules = rules, .n_rules = 2, .hint = "Ask." };
	static const char expected[] =
		"{\"names\":[{\"name\":\"*.example.org\",\"ports\":[[80,80],[443,443]]},"
		"{\"name\":\"db.internal\",\"ports\":[[5432,5433]],\"tcp\":true}],\"hint\":\"Ask.\"}";
	AUTO(fail_release) struct fail f = { 0 };
	char payload[4096];
	b.dispatch.open = false;
	assert_int_equal(line_gate_rules(&b.dispatch, &gate, &f), 0);
	assert_int_equal(b.sent.len, 0);
	b.dispatch.open = true;
	for (int i = 0; i < 2; i++) {
		line_gate_resume(&b.dispatch);
		assert_int_equal(last_sent(&payload), FRAME_GATE);
		assert_string_equal(payload, expected);
	}
	b.dispatch.has_gate = false;
	line_gate_resume(&b.dispatch);
	assert_int_equal(b.sent.len, 0);
	assert_int_equal(line_gate_rules(&b.dispatch, &gate, &f), -1);
	assert_int_equal(cause_of(&f), CAUSE_OLD_SESSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_an_accepted_stream_carries_bytes_both_ways, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refusals_name_their_cause, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_program_that_leaves_ends_its_stream, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_opens_end_the_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_flood_of_opens_is_refused_by_the_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_number_of_connections_is_limited, setup, teardown),
		cmocka_unit_test_setup_teardown(test_denials_of_pid_1_are_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rules_are_sent_and_sent_again, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
