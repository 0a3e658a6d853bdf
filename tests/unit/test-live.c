/* registry/live over line/run: a caller that accepts displays gets each part once, in order, and complete. */
#include "manager/registry/live.h"

#include "base/alloc.h"
#include "manager/line/run.h"
#include "tests/unit/unit.h"

static struct config config = { .max_stdout_chars = 1000, .max_stderr_chars = 1000 };

struct bench {
	struct loop *loop;
	struct dispatch d;
	struct run_waiter waiter;
	struct live live;
	uint32_t call;
	struct buf shown; /* streams unchanged, displays as <…> */
};

static struct bench b;

static void drop_frames(struct dispatch *d, const struct buf *frames)
{
}

static void show_text(void *ctx, int stream, const char *text, size_t n)
{
	buf_printf(&b.shown, "%s%.*s", stream == 2 ? "!" : "", (int)n, text);
}

static void show_display(void *ctx, const struct shown_display *d)
{
	if (d->clear)
		buf_add_str(&b.shown, "<clear>");
	else
		buf_printf(&b.shown, "<%s%s %s>", d->update ? "update " : "", d->id ? d->id : "-",
			   d->bundle->n ? d->bundle->parts[0].data : "");
}

static void on_output(struct run_waiter *w, int stream, const void *data, size_t n)
{
	live_output(&b.live, stream, data, n);
}

static void on_tail(struct run_waiter *w, int stream, const void *data, size_t n)
{
	live_tail(&b.live, stream, data, n);
}

static void on_display(struct run_waiter *w, const struct shown_display *display)
{
	live_display(&b.live, display);
}

static void on_replay(struct run_waiter *w, size_t displays)
{
	live_replay(&b.live, displays);
}

static void on_end(struct run_waiter *w, struct run_result *result, const struct fail *f)
{
	assert_null(f);
	live_end(&b.live, result);
}

static int set_up(void **state)
{
	b = (struct bench){ .loop = loop_new(), .live = { .viewer = { show_text, show_display } } };
	b.waiter = (struct run_waiter){ .on_output = on_output,
					.on_tail = on_tail,
					.on_display = on_display,
					.on_replay = on_replay,
					.on_end = on_end };
	dispatch_init(&b.d, b.loop, &config, drop_frames);
	b.d.open = true;
	struct run_spec spec = { .wait_ms = RUN_WAIT_FOR_END, .timeout_seconds = 30, .text = "1", .len = 1 };
	AUTO(fail_release) struct fail f = { 0 };
	b.call = run_start(&b.d, &spec, &b.waiter, &f);
	return b.call ? 0 : -1;
}

static int tear_down(void **state)
{
	runs_release(&b.d);
	dispatch_release(&b.d);
	live_release(&b.live);
	buf_release(&b.shown);
	loop_free(b.loop);
	return 0;
}

static void feed(enum frame_type type, const char *payload)
{
	struct wire_frame frame = {
		.type = (uint8_t)type, .call = b.call, .payload = (const uint8_t *)payload, .n = strlen(payload)
	};
	assert_int_equal(runs_frame(&b.d, &frame), 0);
}

#define DISPLAY(data, more) "{\"data\":{\"text/plain\":\"" data "\"}" more "}"
#define END(more) "{\"ending\":\"ok\",\"duration_ms\":5" more "}"

static void displays_appear_between_the_text(void **state)
{
	feed(FRAME_OUT, "a\n");
	feed(FRAME_DISPLAY, DISPLAY("one", ",\"display_id\":\"x\""));
	feed(FRAME_ERR, "b\n");
	feed(FRAME_DISPLAY, DISPLAY("two", ",\"display_id\":\"x\",\"update\":true"));
	feed(FRAME_DISPLAY, DISPLAY("three", ""));
	feed(FRAME_END, END(""));
	assert_string_equal(buf_str(&b.shown), "a\n<x one>!b\n<update x two><- three>");
}

static void the_tail_of_long_output_is_shown_once(void **state)
{
	feed(FRAME_OUT, "head");
	feed(FRAME_PROGRESS, "{\"stdout_bytes\":400,\"stderr_bytes\":0,\"tail\":\"a glimpse\"}");
	feed(FRAME_OUT_TAIL, "ta\xc3");
	feed(FRAME_ERR_TAIL, "err");
	feed(FRAME_OUT_TAIL, "\xa4il");
	feed(FRAME_END, END(",\"stdout_bytes\":110,\"stderr_bytes\":3"));
	assert_string_equal(buf_str(&b.shown), "head\n... [100 bytes cut] ...\nta!err\u00e4il");
}

static void a_replay_shows_nothing_twice(void **state)
{
	feed(FRAME_OUT, "one two ");
	feed(FRAME_DISPLAY, DISPLAY("d1", ""));
	feed(FRAME_CALL, "{\"kind\":\"execute\",\"state\":\"running\"}");
	feed(FRAME_OUT, "one two three");
	feed(FRAME_DISPLAY, DISPLAY("d1", ""));
	feed(FRAME_DISPLAY, DISPLAY("d2", ""));
	feed(FRAME_END, END(""));
	assert_string_equal(buf_str(&b.shown), "one two <- d1>three<- d2>");
}

#define PICTURES 103

static void feed_picture(int i)
{
	AUTO(freep) char *frame = xasprintf("{\"data\":{\"image/png\":\"%04d\"}}", i);
	feed(FRAME_DISPLAY, frame);
}

/* PID 1 replays only the last of a hundred pictures. */
static void a_replay_of_fewer_pictures_hides_no_new_one(void **state)
{
	for (int i = 0; i < PICTURES; i++)
		feed_picture(i);
	buf_reset(&b.shown);
	feed(FRAME_CALL, "{\"kind\":\"execute\",\"state\":\"running\"}");
	for (int i = PICTURES - (int)CALL_DISPLAYS_MAX; i < PICTURES; i++)
		feed_picture(i);
	assert_int_equal(b.shown.len, 0);
	feed_picture(PICTURES);
	feed(FRAME_END, END(""));
	assert_string_equal(buf_str(&b.shown), "<- 0103>");
}

#define SWITCHES 60000

static void output_that_switches_streams_often_is_merged(void **state)
{
	live_tail(&b.live, 1, "a", 1);
	live_tail(&b.live, 1, "b", 1);
	assert_int_equal(b.live.n_tail, 1);
	for (int i = 0; i < SWITCHES; i++)
		live_tail(&b.live, 2 - i % 2, "c", 1);
	assert_int_equal(b.live.n_tail, 10000);
	live_end(&b.live, &(struct run_result){ .stdout_bytes = 2 + SWITCHES / 2, .stderr_bytes = SWITCHES / 2 });
	size_t letters = 0;
	for (size_t i = 0; i < b.shown.len; i++)
		letters += b.shown.data[i] != '!';
	assert_int_equal(letters, 2 + SWITCHES);
}

static void output_between_two_waits_comes_first(void **state)
{
	AUTO(fail_release) struct fail f = { 0 };
	feed(FRAME_OUT, "told ");
	run_leave(&b.waiter);
	live_release(&b.live);
	b.live = (struct live){ .viewer = { show_text, show_display } };
	buf_reset(&b.shown);
	feed(FRAME_OUT, "missed ");
	feed(FRAME_DISPLAY, DISPLAY("d", ""));
	assert_int_equal(run_join(&b.d, b.call, /* wait_ms= */ 60000, &b.waiter, &f), 0);
	assert_int_equal(b.shown.len, 0);
	feed(FRAME_OUT, "live");
	feed(FRAME_END, END(",\"stdout_bytes\":16"));
	assert_string_equal(buf_str(&b.shown), "told missed <- d>live");
}

static void cleared_output_is_forgotten(void **state)
{
	feed(FRAME_OUT, "gone");
	feed(FRAME_DISPLAY, "{\"data\":{},\"clear\":true}");
	feed(FRAME_OUT, "stays");
	feed(FRAME_END, END(",\"stdout_bytes\":5"));
	assert_string_equal(buf_str(&b.shown), "gone<clear>stays");
}

static void a_run_that_ended_between_two_waits_is_in_the_answer(void **state)
{
	char type[] = "text/plain", data[] = "d", text[] = "early ";
	struct mime_part part = { .type = type, .data = data, .len = 1 };
	struct mime_bundle bundle = { &part, 1 };
	struct run_part parts[] = { { .kind = PART_STDOUT, .text = text }, { .kind = PART_DISPLAY } };
	live_end(&b.live, &(struct run_result){ .stdout_bytes = 6,
						.displays = &bundle,
						.n_displays = 1,
						.parts = parts,
						.n_parts = ARRAY_LEN(parts) });
	assert_string_equal(buf_str(&b.shown), "early <- d>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(displays_appear_between_the_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_tail_of_long_output_is_shown_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_replay_shows_nothing_twice, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_replay_of_fewer_pictures_hides_no_new_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(output_that_switches_streams_often_is_merged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(output_between_two_waits_comes_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cleared_output_is_forgotten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_that_ended_between_two_waits_is_in_the_answer, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
