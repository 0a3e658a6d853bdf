/* line/line: a worker prepares frames that are too large for the loop, and later frames wait. The end of each run
 * is reported once, whatever happens to its session meanwhile. */
/* evidence: loop-work */
#include "manager/line/line.h"

#include "base/alloc.h"
#include "base/work.h"
#include "manager/line/run.h"
#include "tests/unit/unit.h"

#define MANY (300u << 10)

static struct config config = {
	.max_stdout_chars = 200000, .max_stderr_chars = 200000, .max_result_chars = 1000, .max_traceback_chars = 1000
};

static struct bench {
	struct loop *loop;
	struct line *line;
	struct transport transport;
	struct transport_handler handler;
	bool direct, paused, closed;
	struct buf written; /* last */
	unsigned broken, ends;
	struct run_waiter waiter;
	uint32_t call;
	struct run_result told;
	struct buf shown; /* a letter for each part that came live */
} b;

static const char *fake_name(const struct transport *t UNUSED)
{
	return "fake";
}

static int fake_open(struct transport *t UNUSED, const struct transport_handler *handler, struct fail *f UNUSED)
{
	b.handler = *handler;
	loop_stop(b.loop, 0);
	return 0;
}

static void fake_write(struct transport *t UNUSED, const void *data, size_t n)
{
	buf_reset(&b.written);
	buf_add(&b.written, data, n);
}

static bool fake_is_direct(const struct transport *t UNUSED)
{
	return b.direct;
}

static void fake_pause(struct transport *t UNUSED, bool paused)
{
	b.paused = paused;
}

static void fake_close(struct transport *t UNUSED)
{
	b.closed = true;
}

static struct transport *fake_free(struct transport *t UNUSED)
{
	return NULL;
}

static void on_hello(void *ctx, const struct wire_hello *hello)
{
}

static void on_event(void *ctx, const struct wire_event *event)
{
}

static void on_broken(void *ctx, const struct fail *f)
{
	b.broken++;
}

static void on_end(struct run_waiter *w, struct run_result *result, const struct fail *f)
{
	b.ends++;
	assert_non_null(result);
	run_result_release(&b.told);
	b.told = *result;
	*result = (struct run_result){ 0 };
}

static void on_output(struct run_waiter *w, int stream, const void *data, size_t n)
{
	buf_add_str(&b.shown, "o");
}

static void on_display(struct run_waiter *w, const struct shown_display *display)
{
	buf_add_str(&b.shown, "d");
}

static void put(struct buf *out, enum frame_type type, const char *payload)
{
	wire_put(out, type, b.call, payload, strlen(payload));
}

static void say(const struct buf *frames)
{
	b.handler.on_bytes(b.handler.ctx, frames->data, frames->len);
}

static int set_up(void **state)
{
	static const struct transport_ops ops = { .name = fake_name,
						  .open = fake_open,
						  .write = fake_write,
						  .pause = fake_pause,
						  .is_direct = fake_is_direct,
						  .close = fake_close,
						  .free = fake_free };
	AUTO(buf_release) struct buf hello = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	b = (struct bench){ .loop = loop_new(), .transport.ops = &ops };
	b.line = line_new(&(struct line_spec){
		.loop = b.loop,
		.config = &config,
		.transport = &b.transport,
		.epoch = 1,
		.lease_ms = 60000,
		.handler = { .on_hello = on_hello, .on_event = on_event, .on_broken = on_broken } });
	line_open(b.line);
	loop_run(b.loop);
	put(&hello, FRAME_HELLO, "{\"version\":4,\"kernel\":\"ready\",\"last_call\":0,\"lease_seconds\":60}");
	say(&hello);
	b.waiter = (struct run_waiter){ .on_end = on_end, .on_output = on_output, .on_display = on_display };
	b.call = run_start(
		line_dispatch(b.line),
		&(struct run_spec){ .timeout_seconds = 60, .wait_ms = RUN_WAIT_FOR_END, .text = "x", .len = 1 },
		&b.waiter, &f);
	assert_int_equal(b.call, 1);
	return 0;
}

static int tear_down(void **state)
{
	line_free(b.line);
	loop_skip(b.loop, 0);
	run_result_release(&b.told);
	buf_release(&b.shown);
	buf_release(&b.written);
	assert_false(work_is_running());
	loop_free(b.loop);
	return 0;
}

static char *letters(size_t n)
{
	char *s = xmalloc(n + 1);
	memset(s, 'A', n);
	s[n] = '\0';
	return s;
}

static void put_display(struct buf *out)
{
	AUTO(freep) char *text = letters(MANY);
	AUTO(freep) char *payload = xasprintf("{\"data\":{\"text/plain\":\"%s\"}}", text);
	put(out, FRAME_DISPLAY, payload);
}

static void put_end(struct buf *out)
{
	put(out, FRAME_END, "{\"ending\":\"ok\",\"duration_ms\":5}");
}

static void a_short_run_needs_no_worker(void **state)
{
	AUTO(buf_release) struct buf frames = { 0 };
	put(&frames, FRAME_OUT, "hello\n");
	put(&frames, FRAME_RESULT, "{\"data\":{\"text/plain\":\"2\"}}");
	put_end(&frames);
	say(&frames);
	assert_int_equal(b.ends, 1);
	assert_false(work_is_running());
	assert_string_equal(b.told.stdout_text, "hello\n");
}

static void large_frames_wait_for_a_worker_in_their_order(void **state)
{
	AUTO(buf_release) struct buf frames = { 0 };
	put(&frames, FRAME_OUT, "before\n");
	put_display(&frames);
	put(&frames, FRAME_OUT, "between\n");
	put_display(&frames);
	put(&frames, FRAME_OUT, "after\n");
	put_end(&frames);
	say(&frames);
	/* Only the first part was taken, and nothing more is read. */
	assert_string_equal(buf_str(&b.shown), "o");
	assert_true(b.paused && work_is_running());
	loop_skip(b.loop, 0);
	assert_int_equal(b.ends, 1);
	assert_false(b.paused);
	assert_string_equal(buf_str(&b.shown), "ododo");
	assert_int_equal(b.told.n_displays, 2);
	assert_int_equal(b.told.displays[1].parts[0].len, MANY);
	assert_int_equal(b.told.n_parts, 5);
	assert_string_equal(b.told.parts[2].text, "between\n");
}

/* The message has few bytes, but many values. */
static void a_message_of_many_values_waits_for_a_worker(void **state)
{
	AUTO(buf_release) struct buf frames = { 0 }, payload = { 0 };
	buf_add_str(&payload, "{\"data\":{\"application/json\":[0");
	for (int i = 0; i < 5000; i++)
		buf_add_str(&payload, ",0");
	buf_add_str(&payload, "]}}");
	put(&frames, FRAME_DISPLAY, buf_str(&payload));
	say(&frames);
	assert_int_equal(b.shown.len, 0);
	assert_true(work_is_running());
	loop_skip(b.loop, 0);
	assert_string_equal(buf_str(&b.shown), "d");
}

static void put_output(struct buf *out)
{
	AUTO(freep) char *text = letters(MANY);
	put(out, FRAME_OUT, text);
	put(out, FRAME_OUT, "\r\nlast\n");
}

static void much_output_is_rendered_by_a_worker(void **state)
{
	AUTO(buf_release) struct buf frames = { 0 };
	put_output(&frames);
	put_end(&frames);
	say(&frames);
	assert_int_equal(b.ends, 0);
	assert_true(b.paused);
	loop_skip(b.loop, 0);
	assert_int_equal(b.ends, 1);
	assert_true(b.told.stdout_truncated);
	assert_int_equal(b.told.ending, ENDING_OK);
	assert_non_null(strstr(b.told.stdout_text, "AA\nlast\n"));
	assert_int_equal(b.told.stdout_bytes, MANY + strlen("\r\nlast\n"));
}

static void frames_before_the_connection_broke_count(void **state)
{
	AUTO(buf_release) struct buf frames = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	put_display(&frames);
	put_output(&frames);
	put_end(&frames);
	say(&frames);
	fail_set(&f, FAIL_ENGINE, "the stream ended");
	b.handler.on_closed(b.handler.ctx, &f);
	assert_int_equal(b.broken, 0);
	loop_skip(b.loop, 0);
	assert_int_equal(b.ends, 1);
	assert_int_equal(b.told.ending, ENDING_OK);
	assert_int_equal(b.told.n_displays, 1);
	assert_int_equal(b.broken, 1);
}

static void a_session_that_dies_meanwhile_is_reported_once(void **state)
{
	AUTO(buf_release) struct buf frames = { 0 };
	AUTO(fail_release) struct fail f = { 0 };
	put_output(&frames);
	put_end(&frames);
	say(&frames);
	assert_true(work_is_running());
	fail_set(&f, FAIL_DIED, "the container died");
	line_close(b.line, &f);
	line_cut(b.line, ENDING_CONTAINER_DIED, &f);
	assert_int_equal(b.ends, 1);
	assert_int_equal(b.told.ending, ENDING_CONTAINER_DIED);
	/* Head and tail were delivered; the text between them would have taken the loop too long. */
	assert_int_equal(b.told.stdout_text[0], 'A');
	assert_non_null(strstr(b.told.stdout_text, "AA\nlast\n"));
	assert_true(b.told.stdout_truncated && strlen(b.told.stdout_text) < MANY);
	loop_skip(b.loop, 0);
	assert_int_equal(b.ends, 1);
}

static void a_caller_that_leaves_meanwhile_gets_no_answer(void **state)
{
	AUTO(buf_release) struct buf frames = { 0 };
	put_output(&frames);
	put_end(&frames);
	say(&frames);
	run_abandon(&b.waiter);
	loop_skip(b.loop, 0);
	assert_int_equal(b.ends, 0);
	assert_false(runs_busy(line_dispatch(b.line)));
}

static void a_line_that_is_freed_meanwhile_leaves_nothing(void **state)
{
	AUTO(buf_release) struct buf frames = { 0 };
	put_display(&frames);
	say(&frames);
	assert_true(work_is_running());
	b.line = line_free(b.line);
}

static void stop(bool direct)
{
	AUTO(fail_release) struct fail f = { 0 };
	fail_set(&f, FAIL_DIED, "the session was stopped");
	buf_reset(&b.written);
	b.direct = direct;
	line_stop(b.line, &f);
	line_cut(b.line, ENDING_INTERRUPTED, &f);
	assert_int_equal(b.ends, 1);
}

static void a_stop_reaches_pid_1_and_keeps_the_connection(void **state)
{
	AUTO(buf_release) struct buf frames = { 0 }, expected = { 0 };
	stop(/* direct= */ true);
	wire_put(&expected, FRAME_STOP, 0, NULL, 0);
	assert_int_equal(b.written.len, expected.len);
	assert_memory_equal(b.written.data, expected.data, expected.len);
	assert_true(b.paused && !b.closed);
	/* These frames were still on their way. */
	put_end(&frames);
	say(&frames);
	assert_int_equal(b.ends, 1);
	assert_int_equal(b.broken, 0);
	b.line = line_free(b.line);
	assert_true(b.closed);
}

static void a_stop_closes_a_connection_inside_the_container(void **state)
{
	stop(/* direct= */ false);
	assert_int_equal(b.written.len, 0);
	assert_true(b.closed);
}

#define ON_BENCH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_BENCH(a_short_run_needs_no_worker),
		ON_BENCH(large_frames_wait_for_a_worker_in_their_order),
		ON_BENCH(a_message_of_many_values_waits_for_a_worker),
		ON_BENCH(much_output_is_rendered_by_a_worker),
		ON_BENCH(frames_before_the_connection_broke_count),
		ON_BENCH(a_session_that_dies_meanwhile_is_reported_once),
		ON_BENCH(a_caller_that_leaves_meanwhile_gets_no_answer),
		ON_BENCH(a_line_that_is_freed_meanwhile_leaves_nothing),
		ON_BENCH(a_stop_reaches_pid_1_and_keeps_the_connection),
		ON_BENCH(a_stop_closes_a_connection_inside_the_container),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
