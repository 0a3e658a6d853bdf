/* kernels/system/frames: frames do not depend on how the bytes are cut, and a bad header ends the stream at once. */
#include <errno.h>

#include "kernels/system/frames.h"
#include "tests/unit/unit.h"

static void frames_are_parsed_from_any_pieces(void **state)
{
	AUTO(buf_release) struct buf wire = { 0 };
	assert_int_equal(frame_append(&wire, FRAME_PING, 0, "abc", 3), 0);
	assert_int_equal(frame_append(&wire, FRAME_STOP, 7, NULL, 0), 0);
	assert_int_equal(frame_append(&wire, FRAME_EXECUTE, 0x01020304, "{\"code\":1}", 10), 0);
	for (size_t step = 1; step <= wire.len; step++) {
		AUTO(frame_reader_release) struct frame_reader r = { 0 };
		struct frame f;
		uint32_t calls = 0;
		size_t n = 0;
		for (size_t at = 0; at < wire.len; at += step) {
			frame_reader_feed(&r, wire.data + at, MIN(step, wire.len - at));
			while (frame_reader_next(&r, controller_payload_max, &f) > 0) {
				n++;
				calls += f.header.call;
				if (f.header.type == FRAME_PING)
					assert_memory_equal(f.payload, "abc", 3);
			}
		}
		assert_int_equal(n, 3);
		assert_int_equal(calls, 0x01020304 + 7);
	}
}

static int read_header(uint8_t type, uint32_t length)
{
	AUTO(frame_reader_release) struct frame_reader r = { 0 };
	uint8_t h[FRAME_HEADER_SIZE];
	struct frame f;
	frame_header_write(h, &(struct frame_header){ .length = length, .type = type });
	frame_reader_feed(&r, h, sizeof(h));
	return frame_reader_next(&r, controller_payload_max, &f);
}

static void a_bad_header_is_refused_before_its_payload(void **state)
{
	assert_int_equal(read_header(0, 0), -EPROTO);
	assert_int_equal(read_header(99, 0), -EPROTO);
	assert_int_equal(read_header(FRAME_OUT, 0), -EPROTO); /* not sent by controllers */
	assert_int_equal(read_header(FRAME_PONG, 0), -EPROTO);
	assert_int_equal(read_header(FRAME_PING, PING_PAYLOAD_MAX + 1), -EMSGSIZE);
	assert_int_equal(read_header(FRAME_PING, PING_PAYLOAD_MAX), 0);
	assert_int_equal(read_header(FRAME_EXECUTE, FRAME_PAYLOAD_MAX), 0);
	assert_int_equal(read_header(FRAME_EXECUTE, FRAME_PAYLOAD_MAX + 1), -EMSGSIZE);
	assert_int_equal(read_header(FRAME_HELLO, 1u << 20), -EMSGSIZE);
}

static void a_payload_past_the_maximum_is_not_appended(void **state)
{
	AUTO(buf_release) struct buf out = { 0 };
	AUTO(buf_release) struct buf big = { 0 };
	assert_non_null(buf_reserve(&big, FRAME_PAYLOAD_MAX + 1));
	assert_int_equal(frame_append(&out, FRAME_OUT, 1, big.data, FRAME_PAYLOAD_MAX + 1), -EMSGSIZE);
	assert_int_equal(out.len, 0);
}

static void json_is_sent_compact(void **state)
{
	AUTO(buf_release) struct buf out = { 0 };
	json_auto_t *o = json_pack("{s:i, s:s}", "a", 1, "b", "x\ny");
	assert_int_equal(frame_append_json(&out, FRAME_EVENT, 0, o), 0);
	assert_int_equal(out.len, frame_size(out.data));
	assert_memory_equal(out.data + FRAME_HEADER_SIZE, "{\"a\":1,\"b\":\"x\\ny\"}", out.len - FRAME_HEADER_SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_parsed_from_any_pieces),
		cmocka_unit_test(a_bad_header_is_refused_before_its_payload),
		cmocka_unit_test(a_payload_past_the_maximum_is_not_appended),
		cmocka_unit_test(json_is_sent_compact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
