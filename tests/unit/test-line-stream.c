/* line/line-stream and line/bridge: credit, ends and failures of connections to a session's ports, with a PID 1 whose
 * frames the test writes. */
#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "manager/line/bridge.h"
#include "manager/model/cause.h"
#include "tests/unit/unit.h"

static struct config config;

static struct bench {
	struct loop *loop;
	struct dispatch dispatch;
	struct buf sent; /* frames for PID 1 */
	struct bridge bridge;
	int far; /* the caller's end; -1 = not open */
	unsigned ends;
	enum cause cause;
} b;

static void keep_frames(struct dispatch *d UNUSED, const struct buf *frames)
{
	buf_add(&b.sent, frames->data, frames->len);
}

static void on_open(struct bridge *bridge)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	b.far = pair[1];
	assert_int_equal(bridge_join(bridge, b.loop, pair[0]), 0);
}

static void on_end(struct bridge *bridge UNUSED, const struct fail *f)
{
	b.ends++;
	b.cause = f ? cause_of(f) : CAUSE_NONE;
}

static int setup(void **state UNUSED)
{
	AUTO(fail_release) struct fail f = { 0 };
	b = (struct bench){ .loop = loop_new(), .far = -1 };
	dispatch_init(&b.dispatch, b.loop, &config, keep_frames);
	b.dispatch.open = b.dispatch.has_streams = true;
	b.bridge = (struct bridge){ .on_open = on_open, .on_end = on_end };
	return bridge_open(&b.bridge, &b.dispatch, 8080, &f);
}

static int teardown(void **state UNUSED)
{
	bridge_close(&b.bridge);
	closep(&b.far);
	line_streams_release(&b.dispatch);
	dispatch_release(&b.dispatch);
	buf_release(&b.sent);
	loop_free(b.loop);
	return 0;
}

static int give(uint8_t type, const void *payload, size_t n)
{
	struct wire_frame frame = { .type = type, .call = 1, .payload = payload, .n = n };
	return line_streams_frame(&b.dispatch, &frame);
}

static int give_credit(uint32_t n)
{
	uint8_t payload[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n };
	return give(FRAME_STREAM_CREDIT, payload, sizeof(payload));
}

/* The number of bytes in all frames of this type since the last call. */
static size_t take_sent(uint8_t type, unsigned *ret_frames)
{
	size_t bytes = 0;
	*ret_frames = 0;
	for (size_t at = 0; at < b.sent.len; at += frame_size(b.sent.data + at)) {
		struct frame_header h = frame_header_read(b.sent.data + at);
		assert_int_equal(h.call, 1);
		if (h.type != type)
			continue;
		bytes += h.length;
		++*ret_frames;
	}
	buf_reset(&b.sent);
	return bytes;
}

static void test_bytes_pass_and_both_directions_end(void **state UNUSED)
{
	char data[16];
	unsigned frames;
	take_sent(FRAME_STREAM_OPEN, &frames);
	assert_int_equal(frames, 1);
	assert_int_equal(give(FRAME_STREAM_ACCEPT, NULL, 0), 0);
	assert_int_equal(write(b.far, "question", 8), 8);
	shutdown(b.far, SHUT_WR);
	for (frames = 0; !frames;) {
		loop_turn(b.loop);
		for (size_t at = 0; at < b.sent.len; at += frame_size(b.sent.data + at))
			frames += frame_header_read(b.sent.data + at).type == FRAME_STREAM_END;
	}
	assert_int_equal(take_sent(FRAME_STREAM_DATA, &frames), 8);
	assert_int_equal(give(FRAME_STREAM_DATA, "answer", 6), 0);
	assert_int_equal(give(FRAME_STREAM_END, NULL, 0), 0);
	while (!b.ends)
		loop_turn(b.loop);
	assert_int_equal(b.cause, CAUSE_NONE);
	assert_int_equal(read(b.far, data, sizeof(data)), 6);
	assert_int_equal(read(b.far, data, sizeof(data)), 0);
	assert_int_equal(give(FRAME_STREAM_DATA, "late", 4), 0);
}

/* evidence: streams */
static void test_neither_side_is_sent_more_than_its_window(void **state UNUSED)
{
	static uint8_t data[STREAM_WINDOW];
	unsigned frames;
	size_t sent = 0;
	assert_int_equal(give(FRAME_STREAM_ACCEPT, NULL, 0), 0);
	take_sent(FRAME_STREAM_OPEN, &frames);
	for (int i = 0; i < 8; i++)
		(void)!write(b.far, data, sizeof(data));
	loop_skip(b.loop, 10);
	sent = take_sent(FRAME_STREAM_DATA, &frames);
	assert_true(sent > STREAM_WINDOW / 2 && sent <= STREAM_WINDOW);
	assert_int_equal(give_credit((uint32_t)sent), 0);
	loop_skip(b.loop, 10);
	assert_true(take_sent(FRAME_STREAM_DATA, &frames) > 0);
	/* The caller reads nothing until PID 1 has no credit left. */
	size_t held = 0;
	int r = 0;
	while ((r = give(FRAME_STREAM_DATA, data, STREAM_DATA_MAX)) == 0) {
		held += STREAM_DATA_MAX;
		loop_skip(b.loop, 1);
		(void)take_sent(FRAME_STREAM_CREDIT, &frames);
		assert_true(held < 64 * STREAM_WINDOW);
	}
	assert_int_equal(r, -EPROTO);
	assert_true(b.bridge.unsent <= STREAM_WINDOW);
}

static void test_failures_have_causes(void **state UNUSED)
{
	static const char refused[] = "{\"cause\":\"refused\"}", limit[] = "{\"cause\":\"limit\"}";
	static const struct {
		const char *payload;
		enum cause cause;
	} refusals[] = { { refused, CAUSE_PORT_REFUSED }, { limit, CAUSE_QUEUE_FULL }, { "x", CAUSE_PORT_REFUSED } };
	AUTO(fail_release) struct fail f = { 0 };
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		struct wire_frame frame = { .type = FRAME_STREAM_REFUSE,
					    .call = (uint32_t)i + 1,
					    .payload = (const uint8_t *)refusals[i].payload,
					    .n = strlen(refusals[i].payload) };
		assert_int_equal(line_streams_frame(&b.dispatch, &frame), 0);
		assert_int_equal(b.ends, i + 1);
		assert_int_equal(b.cause, refusals[i].cause);
		assert_int_equal(bridge_open(&b.bridge, &b.dispatch, 8080, &f), 0);
	}
	fail_set(&f, FAIL_ENGINE, "gone");
	f.cause = CAUSE_STREAM_BROKE;
	line_streams_lost(&b.dispatch, &f);
	assert_int_equal(b.cause, CAUSE_STREAM_BROKE);
	b.dispatch.has_streams = false;
	assert_int_equal(bridge_open(&b.bridge, &b.dispatch, 8080, &f), -1);
	assert_int_equal(cause_of(&f), CAUSE_OLD_SESSION);
}

static void test_a_reset_is_passed_on(void **state UNUSED)
{
	unsigned frames;
	char data;
	assert_int_equal(give(FRAME_STREAM_ACCEPT, NULL, 0), 0);
	bridge_close(&b.bridge);
	assert_true(take_sent(FRAME_STREAM_REFUSE, &frames) > 0);
	assert_int_equal(b.ends, 0);
	assert_int_equal(read(b.far, &data, 1), 0);
}

static void test_frames_out_of_order_are_refused(void **state UNUSED)
{
	assert_int_equal(give(FRAME_STREAM_DATA, "x", 1), -EPROTO);
	assert_int_equal(give(FRAME_STREAM_END, NULL, 0), -EPROTO);
	assert_int_equal(give_credit(1), -EPROTO);
	assert_int_equal(give(FRAME_STREAM_CREDIT, "x", 1), -EPROTO);
	assert_int_equal(give(FRAME_STREAM_ACCEPT, NULL, 0), 0);
	assert_int_equal(give(FRAME_STREAM_ACCEPT, NULL, 0), -EPROTO);
	assert_int_equal(give(FRAME_STREAM_END, NULL, 0), 0);
	assert_int_equal(give(FRAME_STREAM_END, NULL, 0), -EPROTO);
	assert_int_equal(give(FRAME_STREAM_DATA, "x", 1), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bytes_pass_and_both_directions_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_neither_side_is_sent_more_than_its_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failures_have_causes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_reset_is_passed_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frames_out_of_order_are_refused, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
