#include "manager/line/wire.h"

#include <errno.h>

#include "base/alloc.h"
#include "tests/unit/unit.h"

static void test_frames_are_parsed_from_any_pieces(void **state)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	AUTO(wire_release) struct wire w = { 0 };
	struct wire_frame frame;
	size_t seen = 0;
	wire_put(&bytes, FRAME_OUT, 7, "hello", 5);
	wire_put(&bytes, FRAME_PONG, 0, NULL, 0);
	wire_put(&bytes, FRAME_ERR, 7, "x", 1);
	for (size_t i = 0; i < bytes.len; i++) {
		wire_feed(&w, bytes.data + i, 1);
		while (wire_next(&w, &frame) == 1) {
			static const uint8_t types[] = { FRAME_OUT, FRAME_PONG, FRAME_ERR };
			assert_int_equal(frame.type, types[seen]);
			seen++;
			if (seen == 1) {
				assert_int_equal(frame.call, 7);
				assert_int_equal(frame.n, 5);
				assert_memory_equal(frame.payload, "hello", 5);
			}
		}
	}
	assert_int_equal(seen, 3);
}

static int feed_header(uint8_t type, uint32_t length)
{
	AUTO(wire_release) struct wire w = { 0 };
	uint8_t header[FRAME_HEADER_SIZE];
	struct wire_frame frame;
	frame_header_write(header, &(struct frame_header){ .length = length, .type = type });
	wire_feed(&w, header, sizeof(header));
	return wire_next(&w, &frame);
}

/* evidence: input-bounds */
static void test_hostile_headers_are_refused_at_once(void **state)
{
	assert_int_equal(feed_header(FRAME_OUT, UINT32_MAX), -EPROTO);
	assert_int_equal(feed_header(FRAME_PONG, 65), -EPROTO);
	assert_int_equal(feed_header(FRAME_EXECUTE, 0), -EPROTO);
	assert_int_equal(feed_header(99, 0), -EPROTO);
	assert_int_equal(feed_header(FRAME_RESULT, FRAME_PAYLOAD_MAX), 0);
	assert_int_equal(feed_header(FRAME_RESULT, FRAME_PAYLOAD_MAX + 1), -EPROTO);
}

static int hello(const char *json, struct wire_hello *ret)
{
	AUTO(fail_release) struct fail f = { 0 };
	struct wire_frame frame = { .type = FRAME_HELLO, .payload = (const uint8_t *)json, .n = strlen(json) };
	return wire_read_hello(&frame, ret, &f);
}

static void test_hello(void **state)
{
	struct wire_hello h;
	assert_int_equal(hello("{\"version\":3,\"last_call\":4,\"kernel\":\"ready\"}", &h), 0);
	assert_int_equal(h.last_call, 4);
	assert_true(h.kernel_ready);
	assert_int_equal(hello("{\"version\":3}", &h), 0);
	assert_false(h.kernel_ready);
	assert_int_equal(hello("{\"version\":99}", &h), -1);
	assert_int_equal(hello("{\"version\":3,\"last_call\":-1}", &h), -1);
	assert_int_equal(hello("{\"version\":3,\"last_call\":4294967295}", &h), -1);
	assert_int_equal(hello("nonsense", &h), -1);
}

static void test_run_frame_refuses_what_is_not_utf8(void **state)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	struct wire_run run = { .text = "a\xff", .len = 2, .timeout_ms = 1000 };
	assert_int_equal(wire_put_run(&bytes, 1, &run), -1);
	run.text = "1+1";
	run.len = 3;
	assert_int_equal(wire_put_run(&bytes, 1, &run), 0);
	assert_int_equal(frame_header_read(bytes.data).type, FRAME_EXECUTE);
}

static void test_an_export_may_come_as_a_descriptor(void **state)
{
	AUTO(buf_release) struct buf bytes = { 0 };
	assert_int_equal(wire_put_files(&bytes, 1, &(struct wire_files){ .export = true, .path = "/workspace/x" }), 0);
	buf_consume(&bytes, FRAME_HEADER_SIZE);
	assert_string_equal(buf_str(&bytes),
			    "{\"path\":\"/workspace/x\",\"window\":4194304,\"whole\":true,\"links\":true}");
}

static void test_events(void **state)
{
	AUTO(wire_event_release) struct wire_event event = { 0 };
	const char *json = "{\"event\":\"ending\",\"cause\":\"lease\"}";
	struct wire_frame frame = { .type = FRAME_EVENT, .payload = (const uint8_t *)json, .n = strlen(json) };
	wire_read_event(&frame, &event);
	assert_int_equal(event.kind, WIRE_EVENT_ENDING);
	assert_int_equal(event.cause, CAUSE_LEASE);
	assert_string_equal(event.detail, "lease");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_are_parsed_from_any_pieces),
		cmocka_unit_test(test_hostile_headers_are_refused_at_once),
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_run_frame_refuses_what_is_not_utf8),
		cmocka_unit_test(test_an_export_may_come_as_a_descriptor),
		cmocka_unit_test(test_events),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
